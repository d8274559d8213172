import { loadStoreUrl } from '../../config/config.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import { type CommandDefinition, JSON_OPTION } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { printData } from '../output/terminal.ts'
import { describeCounts } from './backup.ts'

export const restoreCommand: CommandDefinition<{ json?: boolean }> = {
  summary: 'write a backup to the store of `serve`, which must not exist or be empty',
  define: (command) => command.argument('<file>', 'a file of `backup`').option(...JSON_OPTION),
  example: 'STORE_URL=sqlite:data/restored.db entrepot restore market.db',
  async run({ terminal, services }, { json }, [file = '']) {
    const url = loadStoreUrl(terminal.env)
    const counts = await services.restoreStore(file, url)
    const store = redactCredentials(url)
    await printData(terminal, json, { store, ...counts }, () => `${store}: ${describeCounts(counts)}\n`)
    return EXIT.ok
  },
}
