import { Option } from 'commander'
import type { ListingOptions } from './commands/listing.ts'
import type { ListingsOptions } from './commands/listings.ts'
import { withExample } from './commands/manual.ts'
import { addDiscovery, addRegistries, collect, count, seconds } from './options.ts'
import type { AddCommands } from './program.ts'
import type { RegistryOptions } from './registries/select-registries.ts'

export const addBuyerCommands: AddCommands = (program, { terminal, onMarket }) => {
  withExample(
    addDiscovery(addRegistries(program.command('listings')))
      .description('ask every selected Registry at once and print the merged listings')
      .option('-f, --filter <name=value>', 'keep listings that pass this filter (repeatable)', collect)
      .option('--status <status>', 'open, closed, expired or all (default: open)')
      .option('--publisher <address>', 'keep listings signed by this wallet')
      .option('-l, --limit <n>', 'at most so many of the merged listings (default: 50)', count(1))
      .option('-o, --offset <n>', 'skip so many of the merged listings', count(0))
      .option('--all', 'read everything, without limit')
      .option('--deadline <seconds>', 'for all of it (default: 10, with --all 120)', seconds)
      .option(
        '--policy <name|file>',
        'cheapest, newest, registry-order, or a module that exports a function by default',
      )
      .option('--policy-cmd <command>', 'a program: JSON array on stdin, JSON array on stdout')
      .option('--policy-timeout <seconds>', 'time that a policy may take (default: 10)', seconds)
      .addOption(new Option('--table', 'a table').conflicts(['json', 'ndjson']))
      .addOption(new Option('--json', 'a JSON array').conflicts(['ndjson']))
      .option('--ndjson', 'one JSON object a line'),
    "entrepot listings -r http://127.0.0.1:8080 --filter gpu_model=H200 --filter 'vcpu_count_min=64' --policy cheapest",
  ).action(
    onMarket(async (client, options: ListingsOptions) =>
      (await import('./commands/listings.ts')).listings(terminal, client, options),
    ),
  )

  withExample(
    addDiscovery(addRegistries(program.command('listing')))
      .description('print one listing in full')
      .argument('<id>', 'listing_id')
      .addOption(new Option('--json', 'JSON, on a terminal too')),
    'entrepot listing 7f0c1c1e-6a0e-4e0b-9a53-0b6a4f7f2a01',
  ).action(
    onMarket(async (client, options: ListingOptions, [id = '']) =>
      (await import('./commands/listing.ts')).listing(terminal, client, id, options),
    ),
  )

  withExample(
    addDiscovery(addRegistries(program.command('review')))
      .description(
        'print the presentation record of a listing, from what its Registry and its storefront show',
      )
      .argument('<id>', 'listing_id'),
    'entrepot review weather-0001 -r http://127.0.0.1:8080',
  ).action(
    onMarket(async (client, options: RegistryOptions, [id = '']) =>
      (await import('./commands/review.ts')).review(terminal, client, id, options),
    ),
  )
}
