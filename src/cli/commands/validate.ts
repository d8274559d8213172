import pLimit from 'p-limit'
import { safeText } from '../../domain/safe-text.ts'
import { isRefusal } from '../../domain/source/reasons.ts'
import { SourceError } from '../../domain/source/source-error.ts'
import { formatJson, type JsonValue, listAt } from '../../json/value.ts'
import { addReading, type CommandDefinition, JSON_OPTION, LISTING_FILE } from '../command.ts'
import { combineExitCodes, EXIT, type ExitCode, exitCodeOfFailedRead } from '../exit-codes.ts'
import { type DraftListing, draftJson, readListingFile } from '../listing-file.ts'
import { MAX_LISTING_LINES, printBuyersReading } from '../output/buyers-reading.ts'
import { printData, printReport, printStatus } from '../output/terminal.ts'
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
import { factsOf } from '../registries/registry-facts.ts'
import { type JsonOptions, type Registry, selectRegistries } from '../registries/select-registries.ts'
import { printProblems } from '../writes/check-drafts.ts'
import { draftsFor } from '../writes/line-drafts.ts'

export const validateCommand: CommandDefinition<JsonOptions> = {
  summary: 'check the listings of a file against the listing shape of every selected Registry',
  define: (command) =>
    addReading(command)
      .argument(...LISTING_FILE)
      .option(...JSON_OPTION),
  example: 'entrepot validate listings.yaml -r https://curated.example',
  async run({ terminal, openClient }, options, [file = '']) {
    const { registries, discoveryTimeoutMs, tokens } = selectRegistries(terminal, options)
    const drafts = await readListingFile(terminal, file, tokens)
    const client = await openClient()
    const facts = await factsOf(client, registries, tokens, discoveryTimeoutMs)
    const prices = printBuyersReading(terminal, drafts, facts)
    // Each Registry judges by its own shape.
    const targets = facts.map(({ shape, ...others }) => ({
      facts: { ...others, shape: shape && { ...shape, violations: () => [] } },
      due: drafts,
    }))
    const mistakes = printProblems(terminal, targets)
    const verdicts = await Promise.all(
      registries.flatMap((registry) => {
        // The time of a request begins when it is made, not when a connection is free.
        const inTurn = pLimit(CHECKS_IN_FLIGHT)
        return draftsFor(terminal, registry, drafts).map((draft) =>
          inTurn(judge, client, registry, draft, discoveryTimeoutMs),
        )
      }),
    )
    const findings = verdicts.map(({ finding }) => ({ ...finding, price: prices.get(finding.listing_id)! }))
    const isLong = drafts.length > MAX_LISTING_LINES
    const shown = isLong ? findings.filter(({ valid }) => valid !== true) : findings
    await printData(terminal, options, findings, () => shown.map(lines).join(''))
    for (const { registry, listing_id, failure } of findings)
      if (failure !== undefined) printStatus(terminal, `[registry] ${registry}: ${listing_id}: ${failure}`)
    printReport(terminal, countsOf(findings))
    if (mistakes.length > 0 || findings.some(({ valid }) => valid === false)) return EXIT.badData
    return combineExitCodes(
      verdicts.map(({ code }) => code),
      EXIT.noAnswer,
    )
  },
}

/** Per Registry. */
const CHECKS_IN_FLIGHT = 4

/** `valid` is `null` without a verdict. */
type Finding = {
  registry: string
  listing_id: string
  valid: boolean | null
  errors: readonly JsonValue[]
  failure?: string
}

async function judge(
  client: RegistryClient,
  registry: Registry,
  draft: DraftListing,
  timeoutMs: number,
): Promise<{ finding: Finding; code: ExitCode }> {
  const subject = { registry: registry.url, listing_id: draft.listingId }
  const judged = (valid: boolean, errors: readonly JsonValue[]) => ({
    finding: { ...subject, valid, errors },
    code: EXIT.ok,
  })
  const unjudged = (failure: string, isUnauthorized: boolean) => ({
    finding: { ...subject, valid: null, errors: [], failure },
    code: exitCodeOfFailedRead(isUnauthorized),
  })
  const url = endpointUrl(registry, '/api/v1/listings/validate-publish')
  const body = registry.signed === undefined ? draftJson(draft) : draftJson(filledIn(draft))
  try {
    const response = await client.send({ method: 'POST', url, key: registry.key, body, timeoutMs, registry })
    if (response.status === 404) {
      const errors = (await fetchListingCheck(client, registry, timeoutMs)).violations(draft)
      return judged(errors.length === 0, errors)
    }
    const verdict = readJsonObject(response)
    if (response.status === 200 && typeof verdict.valid === 'boolean')
      return judged(verdict.valid, listAt(verdict, 'errors'))
    if (response.status === 422) {
      const violations = violationsIn(response)
      return judged(false, violations.length > 0 ? violations : [describeErrorResponse(response)])
    }
    return unjudged(describeErrorResponse(response), isUnauthorized(response))
  } catch (cause) {
    if (!(cause instanceof SourceError)) throw cause
    return unjudged(describeSourceError(cause), isRefusal(cause.reason))
  }
}

/** `300 valid, 0 not valid, 0 not checked`. */
function countsOf(findings: readonly Finding[]): string {
  const count = (verdict: Finding['valid']): number =>
    findings.filter(({ valid }) => valid === verdict).length
  return `${count(true)} valid, ${count(false)} not valid, ${count(null)} not checked`
}

/** The public implementation verifies the signature over its own model: these members, with their defaults. */
function filledIn({ members, ...draft }: DraftListing): DraftListing {
  const whole = Object.entries(VALIDATED).map(([name, fallback]) => {
    const text = members.get(name) ?? 'null'
    return [name, text === 'null' ? fallback : text] as const
  })
  return { ...draft, members: new Map(whole) }
}

const VALIDATED = {
  listing_id: 'null',
  storefront_url: '""',
  offer_resource: '{}',
  accepted_escrows: '[]',
  settlement_options: '[]',
  demands: '[]',
  max_duration_seconds: 'null',
}

function lines({ registry, listing_id, valid, errors, price }: Finding & { price: string }): string {
  const verdict = valid === null ? 'not checked' : valid ? 'valid' : 'not valid'
  const details = errors.map((error) => `  ${typeof error === 'string' ? error : formatJson(error)}`)
  return [`${registry}  ${listing_id}  ${verdict}  ${price}`, ...details]
    .map((line) => `${safeText(line)}\n`)
    .join('')
}
