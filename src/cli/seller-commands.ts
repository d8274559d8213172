import { withExample } from './commands/manual.ts'
import type { UpdateOptions } from './commands/update.ts'
import { addDiscovery, addRegistries, addSigning, JSON_OPTION } from './options.ts'
import type { AddCommands } from './program.ts'
import type { WriteOptions } from './registries/registry-writer.ts'
import type { JsonOptions } from './registries/select-registries.ts'

export const addSellerCommands: AddCommands = (program, { terminal, onMarket }) => {
  withExample(
    addSigning(addRegistries(program.command('publish')))
      .description('publish the listings of a file to every selected Registry')
      .argument('<file>', 'one listing or an array of them, JSON or YAML; - for stdin'),
    'entrepot publish listings.yaml --key-file seller.key -r https://open.example,https://curated.example',
  ).action(
    onMarket(async (client, options: WriteOptions, [file = '']) =>
      (await import('./commands/publish.ts')).publish(terminal, client, file, options),
    ),
  )

  withExample(
    addSigning(addRegistries(program.command('update')))
      .description('change the status or the oracle of a listing')
      .argument('<id>', 'listing_id')
      .option('--status <status>', 'open, closed or expired')
      .option('--oracle-address <address>', 'none takes it away'),
    'entrepot update 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01 --status closed --key-file seller.key',
  ).action(
    onMarket(async (client, options: UpdateOptions, [id = '']) =>
      (await import('./commands/update.ts')).update(terminal, client, id, options),
    ),
  )

  withExample(
    addSigning(addRegistries(program.command('delete')))
      .description('delete a listing for good')
      .argument('<id>', 'listing_id'),
    'entrepot delete 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01 --key-file seller.key',
  ).action(
    onMarket(async (client, options: WriteOptions, [id = '']) =>
      (await import('./commands/delete.ts')).remove(terminal, client, id, options),
    ),
  )

  withExample(
    addDiscovery(addRegistries(program.command('validate')))
      .description('dry run of the listings of a file against the listing shape of every selected Registry')
      .argument('<file>', 'one listing or an array of them, JSON or YAML; - for stdin')
      .option(...JSON_OPTION),
    'entrepot validate listings.yaml -r https://curated.example',
  ).action(
    onMarket(async (client, options: JsonOptions, [file = '']) =>
      (await import('./commands/validate.ts')).validate(terminal, client, file, options),
    ),
  )
}
