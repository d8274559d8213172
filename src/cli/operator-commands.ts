import { Option } from 'commander'
import type { MintOptions, OperatorOptions } from './commands/keys.ts'
import { withExample } from './commands/manual.ts'
import { EXIT } from './exit-codes.ts'
import { addDiscovery, addOperator, addRegistries, JSON_OPTION } from './options.ts'
import { print } from './output/terminal.ts'
import type { AddCommands } from './program.ts'
import type { JsonOptions } from './registries/select-registries.ts'

export const addOperatorCommands: AddCommands = (program, { terminal, onMarket, guard }) => {
  const keys = program.command('keys').description('API keys of a Registry that you operate')
  withExample(
    addOperator(keys.command('mint'))
      .description('make a key; it is shown this once')
      .argument('<name>', 'who it is for')
      .addOption(new Option('--scope <scope>', 'what it opens').choices(['read', 'write']).default('read')),
    'REGISTRY_ADMIN_API_KEY=… entrepot keys mint alice --scope write',
  ).action(
    onMarket(async (client, options: MintOptions, [name = '']) =>
      (await import('./commands/keys.ts')).mintKey(terminal, client, name, options),
    ),
  )
  withExample(
    addOperator(keys.command('list')).description(
      'all keys, revoked ones included, without the keys themselves',
    ),
    'entrepot keys list -r http://127.0.0.1:8080',
  ).action(
    onMarket(async (client, options: OperatorOptions) =>
      (await import('./commands/keys.ts')).listKeys(terminal, client, options),
    ),
  )
  withExample(
    addOperator(keys.command('revoke')).description('revoke a key for good').argument('<id>', 'its number'),
    'entrepot keys revoke 3',
  ).action(
    onMarket(async (client, options: OperatorOptions, [id = '']) =>
      (await import('./commands/keys.ts')).revokeKey(terminal, client, id, options),
    ),
  )

  withExample(
    addDiscovery(addRegistries(program.command('sources')))
      .description('health of what stands behind a gateway')
      .option(...JSON_OPTION),
    'entrepot sources -r http://127.0.0.1:8080',
  ).action(
    onMarket(async (client, options: JsonOptions) =>
      (await import('./commands/sources.ts')).sources(terminal, client, options),
    ),
  )

  withExample(
    addDiscovery(addRegistries(program.command('doctor')))
      .description('check the configuration and every Registry in it, and say what to do')
      .option(...JSON_OPTION),
    'entrepot doctor',
  ).action(
    onMarket(async (client, options: JsonOptions) =>
      (await import('./commands/doctor.ts')).doctor(terminal, client, options),
    ),
  )

  withExample(
    program.command('secret').description('print 32 random bytes in hex, for a secret of the operator'),
    'echo "REGISTRY_ADMIN_API_KEY=$(entrepot secret)" >> .env',
  ).action(() =>
    guard(async () => {
      const { randomBytes } = await import('node:crypto')
      await print(terminal, `${randomBytes(32).toString('hex')}\n`)
      return EXIT.ok
    }),
  )

  withExample(
    program
      .command('init')
      .description('write a commented gateway.toml and example.env into an empty folder')
      .argument('[folder]', 'made if it is not there', '.'),
    'entrepot init gateway',
  ).action((folder: string) => guard(async () => (await import('./commands/init.ts')).init(terminal, folder)))
}
