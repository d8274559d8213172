import { parseJson } from '../../json/value.ts'
import { canonicalJson } from '../../signing/canonical-json.ts'
import { CliError, EXIT } from '../exit-codes.ts'
import { type DraftListing, draftJson } from '../listing-file.ts'
import { printWarning, type Terminal } from '../output/terminal.ts'
import type { Registry } from '../registries/select-registries.ts'

/**
 * The listings as the line of the Registry takes them: the plain one has no settlement options.
 * @throws CliError 65 for a listing that cannot be signed
 */
export function draftsFor(
  terminal: Terminal,
  { url, signed }: Registry,
  drafts: readonly DraftListing[],
): readonly DraftListing[] {
  if (signed !== undefined) {
    for (const draft of drafts) requireCanonical(draft, url)
    return drafts
  }
  const losing = drafts.filter(({ members }) => (members.get(OPTIONS) ?? '[]') !== '[]')
  if (losing.length > 0)
    printWarning(
      terminal,
      `${url} speaks the plain line, which has no ${OPTIONS}: ${losing.length} of ${drafts.length} listings are sent without them`,
    )
  return drafts.map((draft) => ({ ...draft, members: without(draft.members) }))
}

const OPTIONS = 'settlement_options'

function without(members: DraftListing['members']): DraftListing['members'] {
  return new Map([...members].filter(([name]) => name !== OPTIONS))
}

function requireCanonical(draft: DraftListing, url: string): void {
  try {
    canonicalJson(parseJson(draftJson(draft)))
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw new CliError(EXIT.badData, `${draft.listingId} cannot be signed for ${url}: ${cause.message}`)
  }
}
