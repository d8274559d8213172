import { MAX_CACHED_BYTES } from '../../../src/http/middleware/answer/response-cache.ts'
import { startVictim } from './attack.ts'

/**
 * `npm run fuzz [-- [signed] COUNT [SEED]]`: generated requests, of the signed line if named, against the running service, with a new seed unless one is given.
 * Fails on an answer that is a fault or that the OpenAPI document does not announce, on a crash, and on memory that grew.
 */

const LINE = process.argv[2] === 'signed' ? 'signed' : 'plain'
const [count = 100_000, seed = Date.now() % 2 ** 31] = process.argv
  .slice(LINE === 'signed' ? 3 : 2)
  .map(Number)
const [COUNT, SEED] = [count, seed]
/** Sent first, so that what is compiled and cached once does not count as growth. */
const WARM_UP = Math.ceil(COUNT / 10)
/** Kept answers may fill their budget; beyond that the service may hold this much more than before. */
const MAX_GROWTH_BYTES = 32 * 1024 * 1024

process.stdout.write(`seed ${SEED}\n`)
const victim = await startVictim()
const startedAt = performance.now()
const failures = await victim.attack(WARM_UP, SEED, LINE)
const before = await victim.heldBytes()
if (failures.length === 0) failures.push(...(await victim.attack(COUNT - WARM_UP, SEED + COUNT, LINE)))
const after = await victim.heldBytes()
if (after > before + MAX_GROWTH_BYTES + MAX_CACHED_BYTES)
  failures.push(`memory grew from ${before} to ${after} bytes`)
if (!(await victim.isWell())) failures.push('the service is not well afterwards')
victim.end()

const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1)
process.stdout.write(
  `${COUNT} requests, ${seconds} s; held ${megabytes(before)} MiB, then ${megabytes(after)} MiB\n`,
)
for (const failure of failures) process.stdout.write(`${failure}\n`)
process.exitCode = failures.length === 0 ? 0 : 1
