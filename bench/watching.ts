import { createServer } from 'node:http'
import { Watchers } from './watchers.ts'

// Its own process, so that streams and service share no heap. Answers each request with what the streams have been sent.
const [, , url = '', count = ''] = process.argv
const watchers = new Watchers()
await watchers.open(url, Number(count))
const server = createServer((_, response) => {
  const { events, bytes, ended } = watchers
  response.end(JSON.stringify({ fewest: Math.min(...events), most: Math.max(...events), bytes, ended }))
})
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`watching at http://127.0.0.1:${(server.address() as { port: number }).port}\n`)
})
process.once('SIGTERM', () => process.exit())
