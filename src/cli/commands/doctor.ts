import { statSync } from 'node:fs'
import { plural } from '../../domain/plural.ts'
import { redactCredentials, safeText } from '../../domain/safe-text.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { urlKey } from '../../domain/url.ts'
import { textAt } from '../../json/value.ts'
import { ANSWERS_SIGNED, refusesUnsigned } from '../../signing/question.ts'
import { addReading, type CommandDefinition, JSON_OPTION } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { bold, isInteractive, printData, type Terminal } from '../output/terminal.ts'
import { defaultFiles } from '../registries/buyer-config.ts'
import { READ_PROBE, readProbeProblem } from '../registries/inspect-registry.ts'
import {
  describeClockDifference,
  describeErrorResponse,
  describeSourceError,
  getEndpoint,
  isUnauthorized,
  type RegistryClient,
  readJsonObject,
} from '../registries/registry-client.ts'
import {
  describeNearMiss,
  type JsonOptions,
  keyHint,
  nearMisses,
  pinHint,
  type Registry,
  type RegistryChoice,
  readSelection,
  registriesOf,
  urlProblem,
} from '../registries/select-registries.ts'

/** What one check found. */
export type Finding = { subject: string; state: 'ok' | 'warning' | 'wrong'; finding: string }

type Check = Finding & { area: 'configuration' | 'registry'; unauthorized?: boolean; listings?: number }

export const doctorCommand: CommandDefinition<JsonOptions> = {
  summary: "check a buyer's configuration and every Registry in it, and suggest fixes",
  define: (command) => addReading(command).option(...JSON_OPTION),
  example: 'entrepot doctor',
  async run({ terminal, openClient }, options) {
    const selection = readSelection(terminal, options)
    const { config, urls, discoveryTimeoutMs: timeoutMs } = selection
    const usable = urls.filter((url) => urlProblem(url) === null)
    const client = await openClient()
    const visits = registriesOf({ config, urls: usable }, options).map((registry) =>
      visitRegistry(client, registry, timeoutMs, {
        keyless: `no key is configured: ${keyHint(registry)}`,
        unpinned: pinHint(registry),
      }),
    )
    const checks = [...checkConfig(terminal, selection, options.config), ...(await Promise.all(visits))]
    await printFindings(terminal, options.json, checks)
    return exitCodeOf(checks)
  },
}

function checkConfig(
  { env }: Terminal,
  { config, urls, origin }: RegistryChoice,
  explicit: string | undefined,
): Check[] {
  const checks: Check[] = []
  const add = (state: Check['state'], subject: string, finding: string): void =>
    void checks.push({ area: 'configuration', subject, state, finding })
  if (config.files.length === 0 && config.problems.length === 0)
    add('ok', explicit ?? defaultFiles(env)[0] ?? '', 'no such file, and none is needed with -r')
  if (origin === 'default')
    add('warning', '[registry] urls', `no Registry is named: reads take ${urls.join()}, writes are refused`)
  for (const file of config.files) add('ok', file, 'read')
  for (const file of config.keyFiles.filter(isReadableByOthers))
    add('warning', file, `holds keys and can be read by others: chmod 600 ${file}`)
  for (const { path, message } of config.problems) add('wrong', path, message)
  for (const { path, message } of config.warnings) add('warning', path, message)
  for (const url of urls) {
    const problem = urlProblem(url)
    if (problem !== null) add('wrong', redactCredentials(url), problem)
  }
  const misses = nearMisses(urls, config.auth)
  for (const miss of misses)
    add('wrong', `[registry.auth] ${redactCredentials(miss.keyUrl)}`, describeNearMiss(miss, config))
  const registryUrls = new Set([...urls, ...config.urls, ...misses.map(({ keyUrl }) => keyUrl)].map(urlKey))
  for (const url of config.auth.keys())
    if (!registryUrls.has(urlKey(url)))
      add('warning', `[registry.auth] ${redactCredentials(url)}`, 'no Registry of urls has this URL')
  return checks
}

const isReadableByOthers = (file: string): boolean =>
  process.platform !== 'win32' && ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0

/** Only a failed read is an error; the others are warnings. */
export async function visitRegistry(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
  advice: { keyless: string; unpinned: string },
): Promise<Check> {
  const { url, key } = registry
  const about = { area: 'registry', subject: url } as const
  const started = performance.now()
  const get = (path: string) => getEndpoint(client, registry, path, timeoutMs)
  try {
    const [health, spec, read] = await Promise.all([get('/health'), get('/filter-spec'), get(READ_PROBE)])
    const problem = readProbeProblem(read)
    if (problem !== null && isUnauthorized(read)) {
      const words = refusesUnsigned(read)
        ? `it ${ANSWERS_SIGNED}; ${advice.unpinned}`
        : `${problem}; ${key === null ? advice.keyless : 'the key was refused'}`
      return { ...about, state: 'wrong', finding: words, unauthorized: true }
    }
    if (problem !== null) return { ...about, state: 'wrong', finding: problem }
    const listings = Number(textAt(readJsonObject(read), 'total_after_filter'))
    const finding = [
      plural(listings, 'open listing'),
      `schema ${textAt(readJsonObject(spec), 'schema', 'id') ?? 'not declared'}`,
      `${key === null ? 'without' : 'with'} a key`,
      `${Math.round(performance.now() - started)} ms`,
    ].join(', ')
    const clock = describeClockDifference(read).replace('; ', '')
    const doubts = [
      ...(clock === '' ? [] : [`${clock}: writes would be refused beyond 5 min`]),
      ...(health.status === 200 ? [] : [`GET /health: ${describeErrorResponse(health)}`]),
      ...(spec.status === 200 ? [] : [`GET /filter-spec: ${describeErrorResponse(spec)}`]),
    ]
    return {
      ...about,
      state: doubts.length === 0 ? 'ok' : 'warning',
      finding: [finding, ...doubts].join('; '),
      listings,
    }
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    // The subject names the URL.
    const finding = describeSourceError(cause).replace(`${new URL(url).origin}: `, '')
    return { ...about, state: 'wrong', finding }
  }
}

export async function printFindings(
  terminal: Terminal,
  json: boolean | undefined,
  findings: readonly Finding[],
): Promise<void> {
  const isStyled = isInteractive(terminal, terminal.stdout)
  await printData(terminal, { json }, findings, () => findings.map((one) => line(one, isStyled)).join(''))
}

const MARKS: Readonly<Record<Finding['state'], string>> = { ok: 'ok', warning: 'warning', wrong: 'WRONG' }

function line({ state, subject, finding }: Finding, isStyled: boolean): string {
  const mark = MARKS[state].padEnd(8)
  return `${isStyled && state !== 'ok' ? bold(mark) : mark}${safeText(`${subject}: ${finding}`)}\n`
}

function exitCodeOf(checks: readonly Check[]): ExitCode {
  if (checks.some(({ area, state }) => area === 'configuration' && state === 'wrong')) return EXIT.badConfig
  const codes = checks
    .filter(({ area }) => area === 'registry')
    .map(({ state, unauthorized }) =>
      state === 'wrong' ? exitCodeOfFailedRead(unauthorized === true) : EXIT.ok,
    )
  return combineExitCodes(codes, EXIT.noAnswer)
}
