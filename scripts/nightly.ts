import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { advice, findProgram, PROGRAMS } from '../test/helpers/programs.ts'

/**
 * `npm run nightly -- MINUTES [SEED]`: looks for faults with a new seed, or the given one, in parts that share the minutes. Prints
 * each command before it runs. All parts run; the exit code is 1 if one failed, and the last lines are the commands that repeat
 * what failed.
 */

/** What a part does in its minutes. What it leaves over is shared by those after it. */
const PARTS: readonly { weight: number; start: (minutes: number) => void }[] = [
  { weight: 1, start: (most) => fuzz([], most * REQUESTS) },
  { weight: 1, start: (most) => fuzz(['signed'], most * SIGNED_REQUESTS) },
  { weight: 4, start: (most) => soak('oracle', most.toFixed(2), seed) },
  { weight: 2, start: (most) => soak('views', most.toFixed(2), seed) },
  { weight: 2, start: (most) => soak('changes', most.toFixed(2), seed) },
  { weight: 3, start: (most) => soak(most.toFixed(2)) },
  { weight: 4, start: tryProperties },
]
/** That a minute is enough for, on two cores with other work. */
const [REQUESTS, SIGNED_REQUESTS] = [45_000, 15_000]
const MAX_REQUESTS = 100_000
/** A command that runs for so long after all minutes hangs. */
const SPARE_MS = 5 * 60_000

const [minutes = 30, seed = Date.now() % 2 ** 31] = process.argv.slice(2).map(Number)
if (!(minutes > 0 && Number.isInteger(seed))) throw new Error('write npm run nightly -- MINUTES [SEED]')
process.stdout.write(`seed ${seed}\n`)
const failures: string[] = []
// Kills and some properties need it.
if (findProgram(PROGRAMS.redis) === null) failures.push(`a program is missing: ${advice(PROGRAMS.redis)}`)
const end = performance.now() + minutes * 60_000
for (const [n, { weight, start }] of PARTS.entries()) {
  const left = (end - performance.now()) / 60_000
  const weights = PARTS.slice(n).reduce((sum, part) => sum + part.weight, 0)
  start(Math.max(0.1, (left * weight) / weights))
}
process.stdout.write(`\nnpm run nightly -- ${minutes} ${seed}: ${failures.length} failed\n`)
for (const failure of failures) process.stdout.write(`failed: ${failure}\n`)
process.exitCode = failures.length === 0 ? 0 : 1

function fuzz(line: readonly string[], requests: number): void {
  run('npm run fuzz --', 'test/system/fuzz/fuzz.ts', [
    ...line,
    Math.ceil(Math.min(MAX_REQUESTS, requests)),
    seed,
  ])
}

function soak(...args: readonly (string | number)[]): void {
  run('npm run soak --', 'bench/soak.ts', args)
}

/** File by file, from one that the seed names, and with the next seed once all were tried. */
function tryProperties(most: number): void {
  const files = globSync('test/**/*.test.ts').filter(hasProperties).toSorted()
  const until = performance.now() + most * 60_000
  for (let n = 0; performance.now() < until; n++) {
    const env = { PROPERTY_SEED: `${seed + Math.floor(n / files.length)}`, PROPERTY_RUNS: 'full' }
    const command = `PROPERTY_SEED=${env.PROPERTY_SEED} PROPERTY_RUNS=full npx ava`
    run(command, 'node_modules/ava/entrypoints/cli.mjs', [files[(seed + n) % files.length]!], env)
  }
}

/** Whether the file, or a part of the tests that it imports, uses fast-check. */
function hasProperties(file: string): boolean {
  const text = readFileSync(file, 'utf8')
  if (text.includes(" from 'fast-check'")) return true
  const parts = [...text.matchAll(/ from '(\.[^']+)'/g)].map(([, path]) => join(file, '..', path!))
  return parts.some((part) => part.startsWith('test/') && hasProperties(part))
}

/** @param command what a reader types for the script, without its arguments */
function run(command: string, script: string, args: readonly (string | number)[], env = {}): void {
  const typed = [command, ...args].join(' ')
  process.stdout.write(`\n$ ${typed}\n`)
  const { status } = spawnSync(process.execPath, [script, ...args.map(String)], {
    env: { ...process.env, ...env },
    stdio: 'inherit',
    timeout: Math.ceil(Math.max(0, end - performance.now()) + SPARE_MS),
    killSignal: 'SIGKILL',
  })
  if (status === null) failures.push(`${typed} # does not end`)
  else if (status !== 0) failures.push(typed)
}
