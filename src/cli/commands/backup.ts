import { loadStoreUrl } from '../../config/config.ts'
import { plural } from '../../domain/plural.ts'
import { redactCredentials } from '../../domain/safe-text.ts'
import { type CommandDefinition, JSON_OPTION, type StoreCounts } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { printData, printWarning } from '../output/terminal.ts'

export const backupCommand: CommandDefinition<{ json?: boolean }> = {
  summary: 'save the whole store of `serve`, with keys, blocks and audit log, while it runs or not',
  define: (command) =>
    command
      .argument('<file>', 'the SQLite file to create; an existing file is never overwritten')
      .option(...JSON_OPTION),
  example: 'STORE_URL=sqlite:data/entrepot.db entrepot backup market.db',
  async run({ terminal, services }, { json }, [file = '']) {
    const store = loadStoreUrl(terminal.env)
    const { bytes, ...counts } = await services.backupStore(store, file)
    if (counts.listings === 0)
      printWarning(terminal, `${redactCredentials(store)} has no listings; is it the right store?`)
    await printData(
      terminal,
      { json },
      { file, bytes, ...counts },
      () => `${file}: ${describeCounts(counts)}, ${plural(bytes, 'byte')}\n`,
    )
    return EXIT.ok
  },
}

export const restoreCommand: CommandDefinition<{ json?: boolean }> = {
  summary: 'write a backup to the store of `serve`, which must be missing or empty',
  define: (command) =>
    command.argument('<file>', 'a file that `entrepot backup` wrote').option(...JSON_OPTION),
  example: 'STORE_URL=sqlite:data/restored.db entrepot restore market.db',
  async run({ terminal, services }, { json }, [file = '']) {
    const url = loadStoreUrl(terminal.env)
    const counts = await services.restoreStore(file, url)
    const store = redactCredentials(url)
    await printData(terminal, { json }, { store, ...counts }, () => `${store}: ${describeCounts(counts)}\n`)
    return EXIT.ok
  },
}

const describeCounts = ({ listings, publishers, keys, blocks = 0 }: StoreCounts): string =>
  `${plural(listings, 'listing')}, ${plural(publishers, 'publisher')}, ${plural(keys, 'API key')}, ${plural(blocks, 'block')}`
