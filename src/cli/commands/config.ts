import { redactCredentials } from '../../domain/safe-text.ts'
import type { CommandDefinition, CommandGroup } from '../command.ts'
import { EXIT, usageError } from '../exit-codes.ts'
import { printReport } from '../output/terminal.ts'
import { addRegistryUrl } from '../registries/edit-config.ts'
import { urlProblem } from '../registries/select-registries.ts'

const addCommand: CommandDefinition<{ config?: string }> = {
  summary: 'add a Registry to [registry] urls of buyer.toml, as the last of them; the first ranks best',
  define: (command) => command.argument('<url>', 'URL of the Registry or gateway'),
  example: 'entrepot config add https://registry.example',
  async run({ terminal }, { config }, [url = '']) {
    const problem = urlProblem(url)
    if (problem !== null) throw usageError(`${redactCredentials(url)} ${problem}`)
    const { file, urls, isNew } = addRegistryUrl(terminal.env, config, url)
    const what = isNew ? `${url} is added` : `${url} was there already`
    printReport(terminal, `[config] ${file}: ${what}; the Registries, the best first: ${urls.join(', ')}`)
    return EXIT.ok
  },
}

export const configCommand: CommandGroup = {
  summary: "change a buyer's configuration",
  subcommands: { add: addCommand },
}
