import { addSigning, type CommandDefinition, OWN_LISTING_ARGUMENT } from '../command.ts'
import { selectRegistries } from '../registries/select-registries.ts'
import { openWallet } from '../signing/wallet.ts'
import { deleteWrite } from '../writes/owner-writes.ts'
import { resolveOwnId } from '../writes/resolve-own-id.ts'
import { runWrites, type WriteOptions } from '../writes/run-writes.ts'

export const deleteCommand: CommandDefinition<WriteOptions> = {
  define: (command) => addSigning(command).argument(...OWN_LISTING_ARGUMENT),
  example: 'entrepot delete 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01 --key-file seller.key',
  async run({ terminal, openClient }, options, [id = '']) {
    const { registries } = selectRegistries(terminal, options, 'write')
    const wallet = await openWallet(terminal, options)
    const client = await openClient()
    const listingId = await resolveOwnId(terminal, client, registries, wallet.address, id)
    return runWrites({
      terminal,
      client,
      options,
      signer: wallet.address,
      targets: registries.map((registry) => ({ registry, total: 1 })),
      write: async (writer, { registry }) => [await writer.write(deleteWrite(registry, wallet, listingId))],
    })
  },
}
