import { killOne, killRedisToo, killTwo } from '../test/system/e2e/killing.ts'
import { runFeeds } from '../test/system/oracle/feeds.ts'
import { runWorld } from '../test/system/oracle/run.ts'
import { compareViews } from '../test/system/oracle/views.ts'
import { soakWatchers } from './soak-watchers.ts'

/** Default duration. */
const MINUTES = 10
/** Kills in one round; each round begins with an empty store, so that its check is quick. */
const KILLS = 30
/** Answers of one world of scripted Registries. */
const ANSWERS = 100
/** Worlds between two printed rates. */
const PRINT_EVERY = 20
/** Comparisons of one world whose changes are followed. */
const ROUNDS_OF_FEEDS = 12

const ROUNDS = [
  { name: 'one process on SQLite', run: killOne },
  { name: 'two processes on one SQLite file', run: killTwo },
  { name: 'two processes on one Redis, which is killed too', run: killRedisToo },
] as const

/**
 * Kills processes during storms of publishes for some minutes, in rounds. Exits with 1 as soon as an acknowledged listing is
 * missing, changed or duplicated.
 */
async function soakKills(minutes: number): Promise<void> {
  const end = performance.now() + minutes * 60_000
  let kills = 0
  let acknowledged = 0
  for (let n = 0; performance.now() < end; n++) {
    const { name, run } = ROUNDS[n % ROUNDS.length]!
    const outcome = await run(KILLS, () => performance.now() >= end)
    kills += outcome.kills
    acknowledged += outcome.acknowledged
    const { faults, ...figures } = outcome
    process.stdout.write(`${name}: ${JSON.stringify(figures)}\n`)
    if (faults.length === 0) continue
    process.stdout.write(`${faults.join('\n')}\n`)
    process.exitCode = 1
    break
  }
  process.stdout.write(`${kills} kills, ${acknowledged} publishes acknowledged\n`)
}

type OracleOptions = { minutes: number; firstSeed: number }

/**
 * Reads worlds of scripted Registries that change meanwhile, one per seed, and checks every answer. Exits with 1 at the first
 * wrong one, and prints its seed.
 */
async function soakOracle({ minutes, firstSeed }: OracleOptions): Promise<void> {
  const started = performance.now()
  const end = started + minutes * 60_000
  const sums = { answers: 0, required: 0, exact: 0, requests: 0 }
  const print = (seed: number): void => {
    const rate = Math.round((sums.answers / (performance.now() - started)) * 1000)
    const { answers, required, exact, requests } = sums
    process.stdout.write(
      `seed ${seed}: ${answers} answers (${rate} a second), ${required} listings required, ` +
        `${exact} answers compared completely, ${requests} requests to Registries\n`,
    )
  }
  for (let seed = firstSeed; ; seed++) {
    const isTimeUp = () => performance.now() >= end
    const { faults, ...counts } = await runWorld(seed, { answers: ANSWERS, isOver: isTimeUp })
    for (const name of ['answers', 'required', 'exact', 'requests'] as const) sums[name] += counts[name]
    const isOver = performance.now() >= end || faults.length > 0
    if (isOver || (seed - firstSeed) % PRINT_EVERY === 0) print(seed)
    if (faults.length > 0) {
      process.stdout.write(`${faults.join('\n')}\nrepeat it by: npm run soak -- oracle 1 ${seed}\n`)
      process.exitCode = 1
    }
    if (isOver) break
  }
}

/** Compares views with gateways that lack what they hide, one market per seed. Exits with 1 at the first difference. */
async function soakViews({ minutes, firstSeed }: OracleOptions): Promise<void> {
  const end = performance.now() + minutes * 60_000
  const sums = { answers: 0, changes: 0 }
  for (let seed = firstSeed; performance.now() < end; seed++) {
    const { compared, changes, faults } = await compareViews(seed, ANSWERS)
    sums.answers += compared
    sums.changes += changes
    process.stdout.write(`seed ${seed}: ${sums.answers} answers compared, ${sums.changes} changes followed\n`)
    if (faults.length === 0) continue
    process.stdout.write(`${faults.join('\n')}\nrepeat it by: npm run soak -- views 1 ${seed}\n`)
    process.exitCode = 1
    break
  }
}

/** Follows markets by `GET /changes`, one per seed, and compares what is kept with whole readings. Exits with 1 at the first difference. */
async function soakChanges({ minutes, firstSeed }: OracleOptions): Promise<void> {
  const end = performance.now() + minutes * 60_000
  const sums = { compared: 0, changes: 0, readings: 0 }
  for (let seed = firstSeed; performance.now() < end; seed++) {
    const { faults, ...counts } = await runFeeds(seed, { rounds: ROUNDS_OF_FEEDS })
    for (const name of ['compared', 'changes', 'readings'] as const) sums[name] += counts[name]
    const { compared, changes, readings } = sums
    process.stdout.write(
      `seed ${seed}: ${compared} maps compared, ${changes} changes, ${readings} readings\n`,
    )
    if (faults.length === 0) continue
    process.stdout.write(`${faults.join('\n')}\nrepeat it by: npm run soak -- changes 1 ${seed}\n`)
    process.exitCode = 1
    break
  }
}

const USAGE =
  'npm run soak -- MINUTES, npm run soak -- oracle MINUTES [SEED], ' +
  'npm run soak -- views MINUTES [SEED], npm run soak -- changes MINUTES [SEED] or npm run soak -- watchers MINUTES\n'

const [first, ...rest] = process.argv.slice(2)
const isOracle = first === 'oracle'
const isViews = first === 'views'
const isChanges = first === 'changes'
const isWatchers = first === 'watchers'
const minutes = Number((isOracle || isViews || isChanges || isWatchers ? rest[0] : first) ?? MINUTES)
const seed = Number(rest[1] ?? Date.now() % 2 ** 31)
if (!(minutes > 0 && Number.isInteger(seed))) {
  process.stderr.write(USAGE)
  process.exitCode = 1
} else if (isWatchers) await soakWatchers(minutes)
else if (isChanges) await soakChanges({ minutes, firstSeed: seed })
else if (isViews) await soakViews({ minutes, firstSeed: seed })
else if (isOracle) await soakOracle({ minutes, firstSeed: seed })
else await soakKills(minutes)
