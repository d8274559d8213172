import { statSync } from 'node:fs'
import { plural } from '../../domain/plural.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { textAt } from '../../json/value.ts'
import { addReading, type CommandDefinition, JSON_OPTION } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { type Finding, printFindings } from '../output/findings.ts'
import type { Terminal } from '../output/terminal.ts'
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
  type Registry,
  type RegistryChoice,
  readSelection,
  urlProblem,
} from '../registries/select-registries.ts'

type Check = Finding & { area: 'configuration' | 'registry'; unauthorized?: boolean }

export const doctorCommand: CommandDefinition<JsonOptions> = {
  summary: "check a buyer's configuration and every Registry in it, and suggest fixes",
  define: (command) => addReading(command).option(...JSON_OPTION),
  example: 'entrepot doctor',
  async run({ terminal, openClient }, options) {
    const selection = readSelection(terminal, options)
    const { config, urls, discoveryTimeoutMs: timeoutMs } = selection
    const usable = urls.filter((url) => urlProblem(url) === null)
    const client = await openClient()
    const visits = usable.map((url) => {
      const registry = { url, key: config.auth.get(url) ?? null }
      return visitRegistry(client, registry, timeoutMs, `no key is configured: ${keyHint(url)}`)
    })
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
  const check = (state: Check['state'], subject: string, finding: string): Check => ({
    area: 'configuration',
    subject,
    state,
    finding,
  })
  const places = explicit === undefined ? defaultFiles(env) : [explicit]
  const known = new Set([...urls, ...config.urls])
  const misses = nearMisses(urls, config.auth)
  const missed = new Set(misses.map(({ keyUrl }) => keyUrl))
  return [
    ...(config.files.length === 0 && config.problems.length === 0
      ? [check('ok', places[0] ?? '', 'no such file')]
      : []),
    ...(origin === 'default'
      ? [
          check(
            'warning',
            '[registry] urls',
            `no Registry is named: reads take ${urls.join()}, writes are refused`,
          ),
        ]
      : []),
    ...config.files.map((file) => check('ok', file, 'read')),
    ...config.keyFiles
      .filter(isReadableByOthers)
      .map((file) => check('warning', file, `holds keys and can be read by others: chmod 600 ${file}`)),
    ...config.problems.map(({ path, message }) => check('wrong', path, message)),
    ...config.warnings.map(({ path, message }) => check('warning', path, message)),
    ...urls.flatMap((url) => {
      const problem = urlProblem(url)
      return problem === null ? [] : [check('wrong', redactCredentials(url), problem)]
    }),
    ...misses.map((miss) => check('wrong', `[registry.auth] ${miss.keyUrl}`, describeNearMiss(miss))),
    ...[...config.auth.keys()]
      .filter((url) => !known.has(url) && !missed.has(url))
      .map((url) => check('warning', `[registry.auth] ${url}`, 'no Registry of urls has exactly this URL')),
  ]
}

const isReadableByOthers = (file: string): boolean =>
  process.platform !== 'win32' && ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0

/** Only a failed read is an error; the others are warnings. */
export async function visitRegistry(
  client: RegistryClient,
  registry: Registry,
  timeoutMs: number,
  keylessAdvice: string,
): Promise<Check> {
  const { url, key } = registry
  const about = { area: 'registry', subject: url } as const
  const started = performance.now()
  const get = (path: string) => getEndpoint(client, registry, path, timeoutMs)
  try {
    const [health, spec, read] = await Promise.all([get('/health'), get('/filter-spec'), get(READ_PROBE)])
    const problem = readProbeProblem(read)
    if (problem !== null && isUnauthorized(read)) {
      const advice = key === null ? keylessAdvice : 'the key was refused'
      return { ...about, state: 'wrong', finding: `${problem}; ${advice}`, unauthorized: true }
    }
    if (problem !== null) return { ...about, state: 'wrong', finding: problem }
    const finding = [
      plural(Number(textAt(readJsonObject(read), 'total_after_filter')), 'open listing'),
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
    }
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    return { ...about, state: 'wrong', finding: describeSourceError(cause) }
  }
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
