// SPDX-License-Identifier: Apache-2.0
// Pages from files; the hosts of eight feeds are looked up now and then.  usage: feeds.js PORT PAGE
const dns = require('dns')
const fs = require('fs')
const http = require('http')
const [port, page] = process.argv.slice(2)
const FEEDS = 8

// dns.lookup() calls getaddrinfo(), which occupies one of the four threads of libuv.
setInterval(() => {
  for (let i = 0; i < FEEDS; i++) dns.lookup(`feed${i}.example.com`, { family: 4 }, () => {})
}, 700)

http.createServer((request, response) => {
  fs.readFile(page, (error, body) => {
    response.statusCode = error ? 500 : 200
    response.setHeader('Content-Length', error ? 0 : body.length)
    response.end(body)
  })
}).listen(Number(port), '127.0.0.1')
