import { publishAtFullSpeed } from './publishing.ts'

// Its own process, which publishes until SIGTERM, so that it shares no event loop with the measurement of reads.
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.stderr.write(`publishing to ${process.argv[2]}\n`)
await publishAtFullSpeed(process.argv[2]!, stop.signal)
