// SPDX-License-Identifier: Apache-2.0
// Two processes of the shop.  usage: cluster.js PORT
const cluster = require('cluster')

if (cluster.isPrimary) {
  cluster.fork()
  cluster.fork()
} else {
  require('./checkout.js')
}
