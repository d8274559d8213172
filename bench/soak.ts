import { killOne, killRedisToo, killTwo } from '../test/e2e/killing.ts'

/** How long it runs where no argument says otherwise. */
const MINUTES = 10
/** Kills in one round; each round begins with an empty store, so that checking it stays quick. */
const KILLS = 30

const ROUNDS = [
  { name: 'one process on SQLite', run: killOne },
  { name: 'two processes on one SQLite file', run: killTwo },
  { name: 'two processes on one Redis, which is killed too', run: killRedisToo },
] as const

/**
 * Kills processes in the middle of storms of publishes until the minutes are over, one round after another, and says
 * what became of each. Ends with 1 as soon as anything acknowledged is missing, changed or there twice.
 */
const soak = async (minutes: number): Promise<void> => {
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

const minutes = Number(process.argv[2] ?? MINUTES)
if (minutes > 0) await soak(minutes)
else {
  process.stderr.write('npm run soak -- MINUTES\n')
  process.exitCode = 1
}
