import { statSync } from 'node:fs'
import { redactCredentials, safeText } from '../../domain/safe-text.ts'
import { SourceError } from '../../domain/source-error.ts'
import { textAt } from '../../json/value.ts'
import {
  addDiscovery,
  addRegistries,
  type CommandContext,
  type CommandDefinition,
  JSON_OPTION,
} from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { bold, isInteractive, print, printJson, type Terminal } from '../output/terminal.ts'
import { type BuyerConfig, defaultFiles, readBuyerConfig } from '../registries/buyer-config.ts'
import { isUnauthorized, READ_PROBE, readProbeFault } from '../registries/inspect-registry.ts'
import {
  describeErrorResponse,
  endpointUrl,
  type RegistryClient,
  readJsonObject,
} from '../registries/registry-client.ts'
import {
  describeNearMiss,
  type JsonOptions,
  nearMisses,
  type Registry,
  splitUrls,
  urlFault,
} from '../registries/select-registries.ts'

type Check = {
  area: 'configuration' | 'registry'
  subject: string
  state: 'ok' | 'warning' | 'wrong'
  finding: string
  unauthorized?: boolean
}

export const doctorCommand: CommandDefinition<JsonOptions> = {
  define: (command) => addDiscovery(addRegistries(command)).option(...JSON_OPTION),
  example: 'entrepot doctor',
  run: doctor,
}

async function doctor({ terminal, openClient }: CommandContext, options: JsonOptions): Promise<ExitCode> {
  const config = readBuyerConfig(terminal.env, options.config)
  const named = splitUrls(options.registries)
  const urls = named.length > 0 ? named : config.urls
  const timeoutMs = (options.discoveryTimeout ?? 0) * 1000 || config.discoveryTimeoutMs
  const usable = urls.filter((url) => urlFault(url) === null)
  const client = await openClient()
  const visits = usable.map((url) => visit(client, { url, key: config.auth.get(url) ?? null }, timeoutMs))
  const checks = [...checkConfig(terminal, config, urls, options.config), ...(await Promise.all(visits))]
  if (options.json || !terminal.stdout.isTTY) await printJson(terminal, checks)
  else
    await print(
      terminal,
      checks.map((check) => line(check, isInteractive(terminal, terminal.stdout))).join(''),
    )
  return exitCodeOf(checks)
}

function checkConfig(
  { env }: Terminal,
  config: BuyerConfig,
  urls: readonly string[],
  explicit: string | undefined,
): Check[] {
  const check = (state: Check['state'], subject: string, finding: string): Check => ({
    area: 'configuration',
    subject,
    state,
    finding,
  })
  const places = explicit === undefined ? defaultFiles(env) : [explicit]
  const known = new Set(urls)
  const misses = nearMisses(urls, config.auth)
  const missed = new Set(misses.map(({ keyUrl }) => keyUrl))
  return [
    ...(config.files.length === 0 && config.problems.length === 0
      ? [check('ok', places[0] ?? '', `no such file; the default ${config.urls.join(', ')} is used`)]
      : []),
    ...config.files.map((file) => check('ok', file, 'read')),
    ...config.keyFiles
      .filter(isReadableByOthers)
      .map((file) => check('warning', file, `holds keys and can be read by others: chmod 600 ${file}`)),
    ...config.problems.map(({ path, message }) => check('wrong', path, message)),
    ...urls.flatMap((url) => {
      const fault = urlFault(url)
      return fault === null ? [] : [check('wrong', redactCredentials(url), fault)]
    }),
    ...misses.map((miss) => check('wrong', `[registry.auth] ${miss.keyUrl}`, describeNearMiss(miss))),
    ...[...config.auth.keys()]
      .filter((url) => !known.has(url) && !missed.has(url))
      .map((url) =>
        check('warning', `[registry.auth] ${url}`, 'a key for no configured Registry; it is not used'),
      ),
  ]
}

const isReadableByOthers = (file: string): boolean =>
  process.platform !== 'win32' && ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0

/** Only a failed read is an error; the others are warnings. */
async function visit(client: RegistryClient, registry: Registry, timeoutMs: number): Promise<Check> {
  const { url, key } = registry
  const about = { area: 'registry', subject: url } as const
  const started = performance.now()
  const get = (path: string) =>
    client.send({ method: 'GET', url: endpointUrl(registry, path), key, timeoutMs })
  try {
    const [health, spec, read] = await Promise.all([get('/health'), get('/filter-spec'), get(READ_PROBE)])
    const fault = readProbeFault(read)
    if (fault !== null && isUnauthorized(read)) {
      const hint =
        key === null ? `no key is configured: [registry.auth] "${url}" = "…"` : 'the key was refused'
      return { ...about, state: 'wrong', finding: `${fault}; ${hint}`, unauthorized: true }
    }
    if (fault !== null) return { ...about, state: 'wrong', finding: fault }
    const finding = [
      `${textAt(readJsonObject(read), 'total_after_filter')} open listings`,
      `schema ${textAt(readJsonObject(spec), 'schema', 'id') ?? 'not declared'}`,
      `${key === null ? 'without' : 'with'} a key`,
      `${Math.round(performance.now() - started)} ms`,
    ].join(', ')
    const doubts = [
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
    return { ...about, state: 'wrong', finding: `${cause.reason}: ${cause.message}` }
  }
}

const MARKS: Readonly<Record<Check['state'], string>> = { ok: 'ok', warning: 'warning', wrong: 'WRONG' }

function line({ state, subject, finding }: Check, isStyled: boolean): string {
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
