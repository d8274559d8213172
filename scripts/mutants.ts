import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { seededRandom } from '../test/helpers/random.ts'

/**
 * `npm run mutants -- FILE [SEED]`: changes a copy of a file in one place, runs the tests that judge it, and so on for places all
 * over the file. Prints which changes no test finds. One seed gives the same changes of the same file.
 */

/** What judges a file, from the cheapest tests to those of the whole product: words are `test/….test.ts`. */
const TESTS: Readonly<Record<string, string>> = {
  'src/listing-index/authority.ts': `unit/listing-index/{authority,ranking} system/oracle/oracle
    integration/{http/routes/{merged-listing,merged-listings},federation/mixed-market} unit/gateway/sequence`,
  'src/listing-index/ranking.ts': 'unit/listing-index/{ranking,copy-index}',
  'src/listing-index/masks.ts': 'unit/listing-index/{ranking,copy-index}',
  'src/gateway/asked.ts': `unit/gateway/sequence integration/http/routes/{merged-listings,paging}
    {integration/{federation/{views,loops},gateway/service},system/oracle/oracle}`,
  'src/gateway/pages.ts': `unit/gateway/{pages,cursor} integration/http/routes/{paging,listings,merged-listings,prices,hints}
    {integration/{gateway/reader-chosen,federation/loops},system/oracle/{oracle,walks}}`,
  'src/gateway/rules.ts': `integration/federation/{rules,blocks,views,visibility} integration/http/routes/changes
    system/oracle/{views,feeds}`,
  'src/domain/walk/step.ts': `unit/domain/walk integration/{upstream/snapshot/joined-pages,client/client}
    {integration/federation/{poison-rows,fault-matrix},system/oracle/{oracle,walks}}`,
}
const AVA = ['node_modules/ava/entrypoints/cli.mjs', '--fail-fast', '--timeout=90s']
const TYPES = ['node_modules/typescript/bin/tsc', '--tsBuildInfoFile', '.tsbuildinfo']
const COUNT = 20 // places that are changed, evenly over the file
/** Each is changed to its neighbour in a pair. */
const WORDS = '=== !== < <= > >= && || ?? && + - true false min max some every'.split(' ')
const SWAPPED = /[!=]==|&&|\|\||\?\?|(?<= )(?:[<>]=?|[-+])(?= )|\b(?:true|false|min|max|some|every)\b/g
const STATEMENT = /(?<=^ +)(?:(?:await )?[a-z][\w#.]*(?:\(.*\)|\+\+| [-+*]?= .*[^,])|continue|break|yield)$/gm
/** Not changed. A named limit keeps its value, which is a choice and no promise. */
const KEPT = /\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|^(?:export )?const [A-Z_]+ = .*/gm

/** All mutants, in the order of the file. Types, comments and texts are blank while places are looked for. */
function* mutantsOf(text: string) {
  const code = stripTypeScriptTypes(text).replace(KEPT, (kept) => kept.replaceAll(/./g, '"'))
  function* each(pattern: RegExp, change: (found: string, at: number, end: number) => [string, number?]) {
    for (const { 0: found, index: at } of code.matchAll(pattern)) {
      const [after, end = at + found.length] = change(found, at, at + found.length)
      yield { at, before: text.slice(at, end), after, code: text.slice(0, at) + after + text.slice(end) }
    }
  }
  yield* each(SWAPPED, (found) => [WORDS[WORDS.indexOf(found) ^ 1]!])
  yield* each(/!(?=[\w(])/g, () => [''])
  yield* each(/(?<![\w.$])\d+(?![\w.])/g, (found) => [`${Number(found) + 1}`])
  yield* each(/\.(?:filter|slice|sort|toSorted)\(/g, (_, __, end) => ['', endOf(code, end) + 1])
  yield* each(/(?<=\bif )\(/g, () => ['(false && '])
  yield* each(/(?<=\bif )\(/g, (_, at, end) => [`(!${text.slice(at, endOf(code, end))})`, endOf(code, end)])
  yield* each(/(?<=\s\? )\S/g, (_, at) => {
    const colon = endOf(code, at, /^\s+: /)
    const from = colon + code.slice(colon).search(/(?<=: )/)
    const end = endOf(code, from, /^,|^\n(?!\s*[.?:&|])/)
    return [`${text.slice(from, end)} : ${text.slice(at, colon)}`, end]
  })
  yield* each(STATEMENT, () => ['{}'])
  yield* each(/(?<=return )(\w+)$(?<=const \1\s+= \[\]\n[\s\S]*)/gm, () => ['[]'])
}

/** Where an expression ends: at a bracket that it did not open, or at `stop` outside of its brackets. */
function endOf(code: string, from: number, stop = /^$/): number {
  let depth = 0
  for (let at = from; at < code.length; at++) {
    if (depth === 0 && stop.test(code.slice(at, at + 99))) return at
    if ('([{'.includes(code[at]!)) depth++
    if (')]}'.includes(code[at]!) && --depth < 0) return at
  }
  return code.length
}

const [file = '', seed = 38] = process.argv.slice(2)
if (TESTS[file] === undefined) throw new Error(`name one of ${Object.keys(TESTS).join(', ')}`)
const text = readFileSync(file, 'utf8')
const all = [...mutantsOf(text)].sort((one, other) => one.at - other.at)
const offset = (seededRandom(Number(seed)).next() * all.length) / COUNT
const turn = (n: number): number => Math.floor(((n + offset) * COUNT) / all.length)
const chosen = all.filter((_, n) => turn(n) !== turn(n + 1))
const commands = [...TESTS[file].split(/\s+/).map((name) => [...AVA, `test/${name}.test.ts`]), TYPES]
const folder = mkdtempSync(join(tmpdir(), 'mutants-'))
process.on('exit', () => rmSync(folder, { recursive: true, maxRetries: 3 }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))
cpSync('.', folder, { recursive: true, filter: (path) => !/^(node_modules|\.git|dist)$/.test(path) })
symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
// The smallest counterexample of a property takes long to find, and does not matter here.
const setup = join(folder, 'test/helpers/property-seed.ts')
writeFileSync(setup, readFileSync(setup, 'utf8').replace('Global({', 'Global({ endOnFailure: true,'))
const options = { cwd: folder, maxBuffer: 2 ** 28, env: { ...process.env, PROPERTY_RUNS: 'full' } }
const failureOf = (command: readonly string[]): Promise<string | null> =>
  new Promise((settle) => {
    execFile(process.execPath, command, options, (error, output) =>
      settle(error && (/(?<=✘ ).*|error TS.*/.exec(output)?.[0] ?? error.message)),
    )
  })

/** Of a file with this text. Load may fail a test that is no unit test, so it counts twice. The types are checked last. */
async function firstFailure(code: string): Promise<string | null> {
  writeFileSync(join(folder, file), code)
  for (const command of commands) {
    let failure = await failureOf(command)
    if (failure !== null && command !== commands[0]) failure = await failureOf(command)
    if (failure !== null) return failure
  }
  return null
}

const failure = await firstFailure(text)
if (failure !== null) throw new Error(`fails without a mutant: ${failure}`)
let survivors = 0
for (const { at, before, after, code } of chosen) {
  const killer = await firstFailure(code)
  if (killer === null) survivors++
  const change = `${before} -> ${after}`.replaceAll(/\s+/g, ' ')
  process.stdout.write(`${text.slice(0, at).split('\n').length}: ${change}\n    ${killer ?? 'SURVIVES'}\n`)
}
const rate = ((100 * survivors) / chosen.length).toFixed(1)
process.stdout.write(`${file}, seed ${seed}: ${survivors} of ${chosen.length} survive (${rate} %)\n`)
