import { withExample } from './manual.ts'
import { addDiscovery, addRegistries, addSigning, JSON_OPTION } from './options.ts'
import type { AddCommands } from './program.ts'
import type { WriteOptions } from './registry-writer.ts'
import type { JsonOptions } from './select-registries.ts'
import type { UpdateOptions } from './update.ts'

export const addSellerCommands: AddCommands = (program, { terminal, onMarket }) => {
  withExample(
    addSigning(addRegistries(program.command('publish')))
      .description('publish the listings of a file to every selected Registry')
      .argument('<file>', 'one listing or an array of them, JSON or YAML; - for stdin'),
    'entrepot publish listings.yaml --key-file seller.key -r https://open.example,https://curated.example',
  ).action(
    onMarket(async (market, options: WriteOptions, [file = '']) =>
      (await import('./publish.ts')).publish(terminal, market, file, options),
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
    onMarket(async (market, options: UpdateOptions, [id = '']) =>
      (await import('./update.ts')).update(terminal, market, id, options),
    ),
  )

  withExample(
    addSigning(addRegistries(program.command('delete')))
      .description('delete a listing for good')
      .argument('<id>', 'listing_id'),
    'entrepot delete 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01 --key-file seller.key',
  ).action(
    onMarket(async (market, options: WriteOptions, [id = '']) =>
      (await import('./remove.ts')).remove(terminal, market, id, options),
    ),
  )

  withExample(
    addDiscovery(addRegistries(program.command('validate')))
      .description('dry run of the listings of a file against the listing shape of every selected Registry')
      .argument('<file>', 'one listing or an array of them, JSON or YAML; - for stdin')
      .option(...JSON_OPTION),
    'entrepot validate listings.yaml -r https://curated.example',
  ).action(
    onMarket(async (market, options: JsonOptions, [file = '']) =>
      (await import('./validate.ts')).validate(terminal, market, file, options),
    ),
  )
}
