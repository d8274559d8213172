import { publishAtFullSpeed } from './publishing.ts'

// A process of its own that publishes until SIGTERM, so that it shares no event loop with who measures reads.
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
process.stderr.write(`publishing to ${process.argv[2]}\n`)
await publishAtFullSpeed(process.argv[2]!, stop.signal)
