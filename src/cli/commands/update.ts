import { Option } from 'commander'
import type { Signer } from '../../client/request.ts'
import { deleteWrite, updateWrite } from '../../client/signed-write.ts'
import { LISTING_STATUSES } from '../../domain/listing.ts'
import { addSigning, type CommandContext, type CommandDefinition, OWN_LISTING_ARGUMENT } from '../command.ts'
import { type ExitCode, usageError } from '../exit-codes.ts'
import type { Terminal } from '../output/terminal.ts'
import { onlyMatch, withoutEllipsis } from '../registries/look-up-listing.ts'
import type { RegistryClient } from '../registries/registry-client.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { openSellers, type Seller } from '../signing/seller-keys.ts'
import { readOwnListings } from '../writes/own-listings.ts'
import { runWrites, type WriteOptions } from '../writes/run-writes.ts'
import type { Write } from '../writes/write-result.ts'

type UpdateOptions = WriteOptions & {
  status?: string
  /** `none` clears it. */
  oracleAddress?: string
}

export const updateCommand: CommandDefinition<UpdateOptions> = {
  summary: 'change the status or the oracle of a listing',
  define: (command) =>
    addSigning(command)
      .argument(...OWN_LISTING_ARGUMENT)
      .addOption(new Option('--status <status>', 'the new status').choices(LISTING_STATUSES))
      .option('--oracle-address <address>', 'address of the new oracle; `none` removes the oracle'),
  example: 'entrepot update example-h200-1 --status closed --key-file seller.key -r https://open.example',
  async run(context, options, [id = '']) {
    const changes = readChanges(options)
    const action = changes.status === 'closed' ? 'close' : 'update'
    return writeOwnListing(context, options, id, (account, listingId) => ({
      ...updateWrite(account, listingId, changes),
      action,
    }))
  },
}

function readChanges({ status, oracleAddress }: UpdateOptions): Record<string, string | null | undefined> {
  if (status === undefined && oracleAddress === undefined)
    throw usageError('nothing to update: give --status, --oracle-address or both')
  return { status, oracle_address: oracleAddress === 'none' ? null : oracleAddress }
}

export const deleteCommand: CommandDefinition<WriteOptions> = {
  summary: 'delete a listing permanently',
  define: (command) => addSigning(command).argument(...OWN_LISTING_ARGUMENT),
  example: 'entrepot delete example-h200-1 --key-file seller.key -r https://open.example',
  run: (context, options, [id = '']) =>
    writeOwnListing(context, options, id, (account, listingId) => ({
      ...deleteWrite(account, listingId),
      action: 'delete',
      provesSuccess: ({ status }) => status === 404,
    })),
}

/** One write to every selected Registry, about the listing whose id is `text` or begins so. */
async function writeOwnListing(
  { terminal, openClient }: CommandContext,
  options: WriteOptions,
  text: string,
  writeTo: (account: Signer | null, listingId: string) => Write,
): Promise<ExitCode> {
  const { registries } = selectRegistries(terminal, options, 'write')
  const sellers = await openSellers(terminal, registries, options)
  const client = await openClient()
  const listingId = await resolveOwnId(terminal, client, sellers, text)
  return runWrites({
    terminal,
    client,
    options,
    targets: sellers.map((seller) => ({ ...seller, total: 1 })),
    write: async (writer, { account }) => [await writer.write(writeTo(account, listingId))],
  })
}

const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i
const BEGINNING_OF_UUID = /^[0-9a-f]{8}[0-9a-f-]*$/i

/**
 * The full id of an own listing whose generated id (a UUID) begins with `text`; other ids are taken as they are,
 * since `listing-1` also begins `listing-10`.
 * @throws CliError where several do, or may
 */
async function resolveOwnId(
  terminal: Terminal,
  client: RegistryClient,
  sellers: readonly Seller[],
  text: string,
): Promise<string> {
  const beginning = withoutEllipsis(text)
  if (!BEGINNING_OF_UUID.test(beginning) || UUID.test(beginning)) return text
  const reads = await Promise.all(
    sellers.map(({ registry, publisher }) => readOwnListings(terminal, client, registry, publisher)),
  )
  const ids = new Set(reads.flatMap(({ listings }) => listings.map(({ listingId }) => listingId)))
  if (ids.has(beginning)) return beginning
  const matches = [...ids].filter((id) => UUID.test(id) && id.startsWith(beginning))
  const match = onlyMatch(terminal, beginning, matches)
  // Ids with a time begin alike.
  if (match !== null && reads.some(({ isComplete }) => !isComplete))
    throw usageError('not all of your listings could be read, and others may begin so: name the whole id')
  return match ?? text
}
