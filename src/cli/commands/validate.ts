import { safeText } from '../../domain/safe-text.ts'
import { SourceError } from '../../domain/source-error.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import { createShapeCheck, type ShapeCheck } from '../../registry/write/listing-shape.ts'
import {
  addDiscovery,
  addRegistries,
  type CommandContext,
  type CommandDefinition,
  JSON_OPTION,
  LISTING_FILE,
} from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { type DraftListing, readListingFile } from '../listing-file.ts'
import { print, printJson, printStatus } from '../output/terminal.ts'
import { requestFilterSpec } from '../registries/filter-specs.ts'
import {
  describeErrorResponse,
  endpointUrl,
  type RegistryClient,
  readJsonObject,
} from '../registries/registry-client.ts'
import { type JsonOptions, type Registry, selectRegistries } from '../registries/select-registries.ts'

/** `valid` is `null` without a verdict. */
type Finding = {
  registry: string
  listing_id: string
  valid: boolean | null
  errors: readonly JsonValue[]
  failure?: string
}

export const validateCommand: CommandDefinition<JsonOptions> = {
  define: (command) =>
    addDiscovery(addRegistries(command))
      .argument(...LISTING_FILE)
      .option(...JSON_OPTION),
  example: 'entrepot validate listings.yaml -r https://curated.example',
  run: validate,
}

async function validate(
  { terminal, openClient }: CommandContext,
  options: JsonOptions,
  [file = '']: readonly string[],
): Promise<ExitCode> {
  const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
  const drafts = await readListingFile(terminal, file)
  const client = await openClient()
  const pairs = registries.flatMap((registry) => drafts.map((draft) => ({ registry, draft })))
  const findings = await Promise.all(
    pairs.map(({ registry, draft }) => judge(client, registry, draft, discoveryTimeoutMs)),
  )
  if (options.json || !terminal.stdout.isTTY) await printJson(terminal, findings)
  else await print(terminal, findings.map(lines).join(''))
  for (const { registry, listing_id, failure } of findings)
    if (failure !== undefined) printStatus(terminal, `[registry] ${registry}: ${listing_id}: ${failure}`)
  return exitCodeOf(findings)
}

async function judge(
  client: RegistryClient,
  registry: Registry,
  { listingId, members }: DraftListing,
  timeoutMs: number,
): Promise<Finding> {
  const about = { registry: registry.url, listing_id: listingId }
  const url = endpointUrl(registry, '/api/v1/listings/validate-publish')
  const body = `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`
  try {
    const reply = await client.send({ method: 'POST', url, key: registry.key, body, timeoutMs })
    const { valid, errors } = readJsonObject(reply)
    if (reply.status === 200 && typeof valid === 'boolean')
      return { ...about, valid, errors: Array.isArray(errors) ? errors : [] }
    if (reply.status === 404) return { ...about, ...(await judgeHere(client, registry, members, timeoutMs)) }
    // Refusing the body's form is a verdict too.
    if (reply.status === 422) return { ...about, valid: false, errors: [describeErrorResponse(reply)] }
    return { ...about, valid: null, errors: [], failure: describeErrorResponse(reply) }
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    return { ...about, valid: null, errors: [], failure: `${cause.reason}: ${cause.message}` }
  }
}

type Verdict = Pick<Finding, 'valid' | 'errors' | 'failure'>

/** For a Registry without the route. */
async function judgeHere(
  client: RegistryClient,
  registry: Registry,
  members: DraftListing['members'],
  timeoutMs: number,
): Promise<Verdict> {
  const reply = await requestFilterSpec(client, registry, timeoutMs)
  const { listing_shape: shape } = readJsonObject(reply)
  if (reply.status !== 200 || !isJsonObject(shape))
    return { valid: null, errors: [], failure: `tells no listing shape: ${describeErrorResponse(reply)}` }
  const errors = violationsOf(shape, members)
  return { valid: errors.length === 0, errors }
}

function lines({ registry, listing_id, valid, errors }: Finding): string {
  const verdict = valid === null ? 'not checked' : valid ? 'valid' : 'not valid'
  const details = errors.map((error) => `  ${typeof error === 'string' ? error : JSON.stringify(error)}`)
  return [`${registry}  ${listing_id}  ${verdict}`, ...details].map((line) => `${safeText(line)}\n`).join('')
}

function exitCodeOf(findings: readonly Finding[]): ExitCode {
  if (findings.some(({ valid }) => valid === false)) return EXIT.badData
  const unheard = findings.filter(({ valid }) => valid === null)
  if (unheard.length === 0) return EXIT.ok
  if (unheard.length < findings.length) return EXIT.partial
  return unheard.every(({ failure }) => /^HTTP 40[13]/.test(failure ?? ''))
    ? EXIT.notAuthorized
    : EXIT.noAnswer
}

const DEFAULTS = {
  listing_id: '',
  storefront_url: '',
  offer_resource: {},
  accepted_escrows: [],
  demands: [],
  max_duration_seconds: null,
}

/** @throws SourceError `bad_envelope` for a shape that is not a JSON Schema */
export function violationsOf(shape: JsonObject, members: DraftListing['members']): string[] {
  const given = Object.keys(DEFAULTS).flatMap((name) => {
    const value = parseJson(members.get(name) ?? 'null')
    return value === null ? [] : [[name, value] as const]
  })
  const candidate = { ...DEFAULTS, ...Object.fromEntries(given) }
  return compile(shape)(candidate).map(({ path, message }) => `${path}: ${message}`)
}

function compile(shape: JsonObject): ShapeCheck {
  try {
    return createShapeCheck(shape)
  } catch (cause) {
    throw new SourceError('bad_envelope', 'its listing shape is not a JSON Schema', { cause })
  }
}
