import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { shippedFile } from '../../config/shipped-files.ts'
import type { CommandDefinition } from '../command.ts'
import { describeFileError, EXIT, usageError } from '../exit-codes.ts'
import { print } from '../output/terminal.ts'

const FILES = ['gateway.toml', 'example.env', 'filter-spec.yaml', 'listing.example.yaml'] as const

export const initCommand: CommandDefinition = {
  summary:
    'write a commented gateway.toml, example.env, filter-spec.yaml and listing.example.yaml into an empty folder',
  define: (command) => command.argument('[folder]', 'created if missing', '.'),
  example: 'entrepot init gateway',
  async run({ terminal }, _options, [folder = '.']) {
    const target = resolve(folder)
    const present = openFolder(target)
    if (present.length > 0)
      throw usageError(`${target} is not empty (${present.slice(0, 3).join(', ')}…): name an empty folder`)
    for (const name of FILES) {
      const text = readFileSync(shippedFile(name), 'utf8')
      writeFileSync(join(target, name), name === 'example.env' ? besideEachOther(text) : text, { flag: 'wx' })
    }
    await print(terminal, nextSteps(target))
    return EXIT.ok
  },
}

/** The paths in example.env are those of a checkout. */
/** Gives the names in it. */
function openFolder(folder: string): string[] {
  try {
    mkdirSync(folder, { recursive: true })
    return readdirSync(folder)
  } catch (cause) {
    throw usageError(`cannot use ${folder} as a folder: ${describeFileError(cause)}`)
  }
}

const besideEachOther = (text: string): string => `${text.replaceAll('config/', '')}${FILTER_SPEC}`

const FILTER_SPEC = `
# Filters of the local Registry, and the shape of its listings.
REGISTRY_FILTER_SPEC_PATH=filter-spec.yaml
`

const nextSteps = (folder: string): string => `${folder} now holds ${FILES.join(', ')}. Next:

  cd ${folder}
  cp example.env .env && chmod 600 .env
  echo "REGISTRY_ADMIN_API_KEY=$(entrepot secret)" >> .env
                         # name the Registries to merge as [[upstreams]] in gateway.toml
  entrepot check && entrepot serve
  entrepot keys mint alice --scope read     # in another terminal, in this folder
  entrepot wallet new seller.json           # a seller's wallet, for listing.example.yaml
`
