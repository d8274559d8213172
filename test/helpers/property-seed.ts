import fc from 'fast-check'
import { runs } from './runs.ts'

/**
 * Loaded before every test file: property tests see the same cases in every run. `PROPERTY_SEED=new` takes another seed,
 * `PROPERTY_SEED=NUMBER` that one. A property that fails prints its seed.
 */
const FIXED_SEED = 20_261_121
/** Of a property that names no number. */
const DEFAULT_RUNS = 100

const given = process.env.PROPERTY_SEED
const seed = given === 'new' ? Date.now() % 2 ** 31 : Number(given ?? FIXED_SEED)
if (!Number.isInteger(seed)) throw new TypeError(`PROPERTY_SEED must be 'new' or an integer, not '${given}'`)
fc.configureGlobal({ seed, numRuns: runs(DEFAULT_RUNS) })
