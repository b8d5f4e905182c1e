// SPDX-License-Identifier: Apache-2.0
// A gateway that asks the inventory.  usage: gateway.js PORT INVENTORY
const http = require('http')
const [port, inventory] = process.argv.slice(2).map(Number)

http.createServer(async (request, response) => {
  const reply = await fetch(`http://127.0.0.1:${inventory}${request.url}`)
  const body = await reply.text()
  response.setHeader('Content-Length', Buffer.byteLength(body))
  response.end(body)
}).listen(port, '127.0.0.1')
