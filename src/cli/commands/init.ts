import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { shippedFile } from '../../config/shipped-files.ts'
import type { CommandDefinition } from '../command.ts'
import { describeFileError, EXIT, usageError } from '../exit-codes.ts'
import { print } from '../output/terminal.ts'
import { newSecret } from './secret.ts'

const FILES = ['gateway.toml', 'filter-spec.yaml', 'listing.example.yaml'] as const

export const initCommand: CommandDefinition = {
  summary:
    'write a commented gateway.toml, filter-spec.yaml and listing.example.yaml into an empty folder, and .env with a new admin key',
  define: (command) => command.argument('[folder]', 'created if missing', '.'),
  example: 'entrepot init gateway',
  async run({ terminal }, _options, [folder = '.']) {
    const target = resolve(folder)
    const present = openFolder(target)
    if (present.length > 0)
      throw usageError(`${target} is not empty (${present.slice(0, 3).join(', ')}…): name an empty folder`)
    for (const name of FILES)
      writeFileSync(join(target, name), readFileSync(shippedFile(name), 'utf8'), { flag: 'wx' })
    writeFileSync(join(target, '.env'), environmentText(), { flag: 'wx', mode: 0o600 })
    await print(terminal, nextSteps(target))
    return EXIT.ok
  },
}

/** Gives the names in it. */
function openFolder(folder: string): string[] {
  try {
    mkdirSync(folder, { recursive: true })
    return readdirSync(folder)
  } catch (cause) {
    throw usageError(`cannot use ${folder} as a folder: ${describeFileError(cause)}`)
  }
}

/** Of the example, whose paths are those of a checkout, with a secret. */
function environmentText(): string {
  const example = readFileSync(shippedFile('example.env'), 'utf8').replaceAll('config/', '')
  const [, ...lines] = example.split('\n')
  const head = '# Settings of this gateway, which `entrepot serve` reads in its folder. It holds secrets.'
  const text = [head, ...lines].join('\n')
  return `${text.replace(/^REGISTRY_ADMIN_API_KEY=$/m, (line) => line + newSecret())}${FILTER_SPEC}`
}

const FILTER_SPEC = `
# Filters of the local Registry, and the shape of its listings.
REGISTRY_FILTER_SPEC_PATH=filter-spec.yaml
`

const nextSteps = (
  folder: string,
): string => `${folder} now holds ${FILES.join(', ')}, and .env with a new admin key.

Name the Registries to merge as [[upstreams]] in gateway.toml. Then:

  cd ${folder}
  entrepot check && entrepot serve
  entrepot keys mint alice --scope read     # in another terminal, in this folder
  entrepot wallet new seller.json           # a seller's wallet, for listing.example.yaml
`
