import { safeText } from '../../domain/safe-text.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { EntrepotError } from '../../errors.ts'
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../json/value.ts'
import { createShapeCheck, type ShapeCheck } from '../../registry/write/listing-shape.ts'
import { validateListing } from '../../registry/write/validate.ts'
import { addReading, type CommandDefinition, JSON_OPTION, LISTING_FILE } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { type DraftListing, readListingFile } from '../listing-file.ts'
import { printData, printStatus } from '../output/terminal.ts'
import {
  describeErrorResponse,
  describeSourceError,
  describeViolation,
  endpointUrl,
  getEndpoint,
  isUnauthorized,
  type RegistryClient,
  readJsonObject,
  violationsIn,
} from '../registries/registry-client.ts'
import { type JsonOptions, type Registry, selectRegistries } from '../registries/select-registries.ts'

export const validateCommand: CommandDefinition<JsonOptions> = {
  define: (command) =>
    addReading(command)
      .argument(...LISTING_FILE)
      .option(...JSON_OPTION),
  example: 'entrepot validate listings.yaml -r https://curated.example',
  async run({ terminal, openClient }, options, [file = '']) {
    const { registries, discoveryTimeoutMs } = selectRegistries(terminal, options)
    const drafts = await readListingFile(terminal, file)
    const client = await openClient()
    const pairs = registries.flatMap((registry) => drafts.map((draft) => ({ registry, draft })))
    const verdicts = await Promise.all(
      pairs.map(({ registry, draft }) => judge(client, registry, draft, discoveryTimeoutMs)),
    )
    const findings: Finding[] = pairs.map(({ registry, draft }, n) => {
      const { valid, errors = [], failure } = verdicts[n]!
      return {
        registry: registry.url,
        listing_id: draft.listingId,
        valid,
        errors,
        ...(failure && { failure }),
      }
    })
    await printData(terminal, options.json, findings, () => findings.map(lines).join(''))
    for (const { registry, listing_id, failure } of findings)
      if (failure !== undefined) printStatus(terminal, `[registry] ${registry}: ${listing_id}: ${failure}`)
    if (findings.some(({ valid }) => valid === false)) return EXIT.badData
    return combineExitCodes(verdicts.map(exitCodeOf), EXIT.noAnswer)
  },
}

/** `valid` is `null` without a verdict. */
type Verdict = {
  valid: boolean | null
  errors?: readonly JsonValue[]
  failure?: string
  isUnauthorized?: boolean
}

type Finding = Omit<Verdict, 'isUnauthorized'> & {
  registry: string
  listing_id: string
  errors: readonly JsonValue[]
}

const exitCodeOf = ({ valid, isUnauthorized = false }: Verdict): ExitCode =>
  valid === null ? exitCodeOfFailedRead(isUnauthorized) : EXIT.ok

async function judge(
  client: RegistryClient,
  registry: Registry,
  { members }: DraftListing,
  timeoutMs: number,
): Promise<Verdict> {
  const url = endpointUrl(registry, '/api/v1/listings/validate-publish')
  const body = `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`
  try {
    const response = await client.send({ method: 'POST', url, key: registry.key, body, timeoutMs })
    if (response.status === 404) return await judgeByShape(client, registry, body, timeoutMs)
    const { valid, errors } = readJsonObject(response)
    if (response.status === 200 && typeof valid === 'boolean')
      return { valid, errors: Array.isArray(errors) ? errors : [] }
    if (response.status === 422) {
      const violations = violationsIn(response)
      return { valid: false, errors: violations.length > 0 ? violations : [describeErrorResponse(response)] }
    }
    return { valid: null, failure: describeErrorResponse(response), isUnauthorized: isUnauthorized(response) }
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    return { valid: null, failure: describeSourceError(cause) }
  }
}

/** The Registry's own check, for one without the route. */
async function judgeByShape(
  client: RegistryClient,
  registry: Registry,
  body: string,
  timeoutMs: number,
): Promise<Verdict> {
  const response = await getEndpoint(client, registry, '/filter-spec', timeoutMs)
  const { listing_shape: shape } = readJsonObject(response)
  if (response.status !== 200 || !isJsonObject(shape)) {
    const failure = `no listing shape in its filter spec: ${describeErrorResponse(response)}`
    return { valid: null, failure, isUnauthorized: isUnauthorized(response) }
  }
  try {
    const { valid, errors } = validateListing(parseJson(body) as JsonObject, compile(shape))
    return { valid, errors }
  } catch (cause) {
    if (!(cause instanceof EntrepotError)) throw cause
    return { valid: false, errors: cause.errors.map(describeViolation) }
  }
}

function compile(shape: JsonObject): ShapeCheck {
  try {
    return createShapeCheck(shape)
  } catch (cause) {
    throw new SourceError('bad_envelope', 'its listing shape is not a JSON Schema', { cause })
  }
}

function lines({ registry, listing_id, valid, errors }: Finding): string {
  const verdict = valid === null ? 'not checked' : valid ? 'valid' : 'not valid'
  const details = errors.map((error) => `  ${typeof error === 'string' ? error : JSON.stringify(error)}`)
  return [`${registry}  ${listing_id}  ${verdict}`, ...details].map((line) => `${safeText(line)}\n`).join('')
}
