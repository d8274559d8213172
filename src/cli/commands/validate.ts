import { safeText } from '../../domain/safe-text.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import type { JsonValue } from '../../json/value.ts'
import { addReading, type CommandDefinition, JSON_OPTION, LISTING_FILE } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { type DraftListing, draftJson, readListingFile } from '../listing-file.ts'
import { printData, printStatus } from '../output/terminal.ts'
import { fetchListingCheck } from '../registries/listing-check.ts'
import {
  describeErrorResponse,
  describeSourceError,
  endpointUrl,
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
  draft: DraftListing,
  timeoutMs: number,
): Promise<Verdict> {
  const url = endpointUrl(registry, '/api/v1/listings/validate-publish')
  const body = draftJson(draft)
  try {
    const response = await client.send({ method: 'POST', url, key: registry.key, body, timeoutMs })
    if (response.status === 404) {
      const errors = (await fetchListingCheck(client, registry, timeoutMs)).violations(draft)
      return { valid: errors.length === 0, errors }
    }
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
    const isRefused = cause.reason === 'unauthorized'
    return { valid: null, failure: describeSourceError(cause), isUnauthorized: isRefused }
  }
}

function lines({ registry, listing_id, valid, errors }: Finding): string {
  const verdict = valid === null ? 'not checked' : valid ? 'valid' : 'not valid'
  const details = errors.map((error) => `  ${typeof error === 'string' ? error : JSON.stringify(error)}`)
  return [`${registry}  ${listing_id}  ${verdict}`, ...details].map((line) => `${safeText(line)}\n`).join('')
}
