import { publishAtFullSpeed, sendBadSignatures } from './publishing.ts'

// Its own process, which publishes until SIGTERM, so that it shares no event loop with the measurement of reads.
const [, , url = '', load] = process.argv
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.stderr.write(`publishing to ${url}\n`)
await (load === 'bad signatures' ? sendBadSignatures : publishAtFullSpeed)(url, stop.signal)
