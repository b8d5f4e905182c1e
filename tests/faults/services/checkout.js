// SPDX-License-Identifier: Apache-2.0
// A shop; its /sign computes in the event loop.  usage: checkout.js PORT
const crypto = require('crypto')
const http = require('http')

http.createServer((request, response) => {
  const body = request.url === '/sign'
    ? crypto.pbkdf2Sync('secret', 'salt', 120000, 32, 'sha256').toString('hex')
    : 'item\n'
  response.setHeader('Content-Length', Buffer.byteLength(body))
  response.end(body)
}).listen(Number(process.argv[2]), '127.0.0.1')
