import { shippedVocabulary } from '../../config/vocabulary.ts'
import { suggestName } from '../../domain/nearest-name.ts'
import { countedSizes, formatAmount, lowestPrices } from '../../domain/price/price-key.ts'
import { isLocalUrl } from '../../domain/private-address.ts'
import { LEAST_PUBLISHERS, OUTLIER_PART } from '../../gateway/pages/price-bounds.ts'
import { type JsonValue, listAt, parseJson, textAt } from '../../json/value.ts'
import { misspeltModel } from '../../vocabulary/gpus/read-gpu-value.ts'
import type { Meaning, Tables } from '../../vocabulary/meaning.ts'
import { nearPlace } from '../../vocabulary/places/read-place-value.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { type DraftListing, draftJson, PUBLISHED } from '../listing-file.ts'
import { describeIds, MAX_LISTING_LINES } from '../output/buyers-reading.ts'
import { printStatus, printWarning, type Terminal } from '../output/terminal.ts'
import type { RegistryFacts } from '../registries/registry-facts.ts'
import { type ListingProblem, paymentProblems } from './payment-problems.ts'

/** What is sent to a Registry, and what the Registry says of itself. */
type Target = { facts: RegistryFacts; due: readonly DraftListing[] }

type FoundProblem = ListingProblem & { drafts: Map<string, DraftListing> }

/** Prints what buyers would miss or misread. @returns the lines of what is wrong, as they were printed */
export function printProblems(
  terminal: Terminal,
  targets: readonly Target[],
  asIs?: boolean,
): readonly string[] {
  const vocabulary = shippedVocabulary()
  const found = new Map<string, FoundProblem>()
  for (const { facts, due } of targets)
    for (const draft of due) {
      const listing = parseJson(draftJson(draft))
      const meaning = vocabulary.read(listing, '')
      const problems = [
        ...unknownMembers(draft, facts),
        ...notFound(listing, meaning, vocabulary.tables),
        ...paymentProblems(listing, facts),
        ...badAddresses(listing),
        ...unreachableStorefront(draft, facts),
        ...tooCheap(listing, meaning, facts),
      ]
      for (const problem of problems) {
        const known = found.get(problem.message) ?? { ...problem, drafts: new Map() }
        found.set(problem.message, { ...known, drafts: known.drafts.set(draft.listingId, draft) })
      }
    }
  const isWrong = ({ isMistake }: ListingProblem): boolean => isMistake && asIs !== true
  const [mistakes, doubts] = [true, false].map((wrong) =>
    [...found.values()].filter((problem) => isWrong(problem) === wrong),
  )
  for (const problem of doubts!.slice(0, MAX_LISTING_LINES)) printWarning(terminal, lineOf(problem))
  const misfits = asIs === true ? [] : targets.flatMap(misfitsOf)
  const lines = [...mistakes!.map((problem) => `[listings] ${lineOf(problem)}`), ...misfits]
  for (const line of lines.slice(0, MAX_LISTING_LINES)) printStatus(terminal, line)
  const rest = lines.length - MAX_LISTING_LINES
  if (rest > 0) printStatus(terminal, `[listings] and ${rest} more`)
  return lines
}

/** @throws CliError 65, before anything is sent, for what looks like a mistake, or does not fit a listing shape */
export function requireGood(...checked: Parameters<typeof printProblems>): void {
  if (printProblems(...checked).length > 0)
    throw new CliError(
      EXIT.badData,
      'nothing is published: buyers would miss or misread listings; correct the file, or add --as-is',
    )
}

function lineOf({ message, text, drafts }: FoundProblem): string {
  const [first] = drafts.values()
  return `${first!.placeOf(text)}: ${describeIds([...drafts.keys()])}: ${message}`
}

const misfitsOf = ({ facts: { url, shape }, due }: Target): string[] =>
  due.flatMap((draft) => {
    const errors = shape?.violations(draft) ?? []
    return errors.length === 0 ? [] : [`[registry] ${url}: ${draft.listingId}: ${errors.join('; ')}`]
  })

/** Of a contract or an oracle that nothing can be sent to. */
function badAddresses(listing: JsonValue): ListingProblem[] {
  const escrows = listAt(listing, 'accepted_escrows').map((escrow) => textAt(escrow, 'escrow_address'))
  return [...escrows, textAt(listing, 'oracle_address')]
    .filter((text) => text !== null)
    .filter((text) => !/^0x[0-9a-f]{40}$/i.test(text))
    .map((text) => ({ message: `'${text}' is not 0x and 40 hexadecimal digits`, text, isMistake: true }))
}

/** Of listings at a Registry that others reach. */
function unreachableStorefront({ storefrontUrl }: DraftListing, { url }: RegistryFacts): ListingProblem[] {
  const storefront = URL.parse(storefrontUrl ?? '')
  if (storefront === null || isLocalUrl(url)) return []
  const problem = (message: string) => [{ message, text: storefrontUrl!, isMistake: false }]
  if (isLocalUrl(storefront.href)) return problem(`buyers cannot reach ${storefront}: its address is private`)
  if (storefront.protocol === 'https:') return []
  return problem(
    `buyers cannot reach ${storefront} over TLS: others can read and change what they send; use https`,
  )
}

function unknownMembers(draft: DraftListing, { shape }: RegistryFacts): ListingProblem[] {
  const ignored = draft.ignored.map((name) => {
    const suggestion = suggestName(name, PUBLISHED)
    const message = `Registries ignore '${name}'${suggestion}`
    return { message, text: name, isMistake: suggestion !== '' }
  })
  return [...ignored, ...(shape?.misspelt(draft) ?? [])]
}

function notFound(listing: JsonValue, { gpu, place }: Meaning, { gpus, places }: Tables): ListingProblem[] {
  const [model, region] = ['gpu_model', 'region'].map((name) => textAt(listing, 'offer_resource', name))
  const problems: ListingProblem[] = []
  const add = (text: string, message: string, meant: string | null, isMistake = meant !== null): void => {
    const hint = meant === null ? '' : `; did you mean ${meant}?`
    problems.push({ message: `${message}${hint}`, text, isMistake })
  }
  if (gpu.isGpu && gpu.model === null && model)
    add(model, `filters by model miss it: '${model}' is not a known model`, misspeltModel(gpus, model))
  if (gpu.isGpu && gpu.model === null && !model)
    add('offer_resource', 'filters by model miss it: it has GPUs, and no gpu_model', null)
  if (place.country === null && region) {
    const { place: meant = null, isMisspelt } = nearPlace(places, region) ?? {}
    add(region, `filters by country miss it: '${region}' names no known country`, meant, isMisspelt)
  }
  return problems
}

/** What a gateway marks as an outlier (docs/contract.md#34-prices), of offers in place of publishers, which counts do not have. */
function tooCheap(listing: JsonValue, { gpu }: Meaning, { tokens, prices }: RegistryFacts): ListingProblem[] {
  const ranges = prices.get(gpu.model ?? '') ?? []
  return [...lowestPrices(listing, 'gpu', countedSizes(listing, '')).values()].flatMap(
    ({ key, option, per }) => {
      const token = tokens.find(option.chain, option.token)
      const range = ranges.find(
        ({ symbol, unit, price_per, testnet, offers }) =>
          symbol === token?.symbol &&
          unit === option.unit &&
          price_per === per &&
          (testnet ?? false) === (token?.testnet ?? false) &&
          offers >= LEAST_PUBLISHERS,
      )
      if (token === null || range === undefined) return []
      const amount = formatAmount(key, token.decimals)
      if (Number(amount) * Number(OUTLIER_PART) >= Number(range.median)) return []
      const message = `its price of ${amount} ${token.symbol} is below 1 % of the median of ${gpu.model}, ${range.median}: a value counts base units, of which one ${token.symbol} has 10^${token.decimals}`
      return [{ message, text: String(option.value), isMistake: true }]
    },
  )
}
