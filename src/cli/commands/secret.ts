import { randomBytes } from 'node:crypto'
import type { CommandDefinition } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { print } from '../output/terminal.ts'

export const secretCommand: CommandDefinition = {
  summary: 'print 32 random bytes in hex, to use as a secret',
  example: 'echo "REGISTRY_ADMIN_API_KEY=$(entrepot secret)" >> .env',
  run: async ({ terminal }) => {
    await print(terminal, `${newSecret()}\n`)
    return EXIT.ok
  },
}

export const newSecret = (): string => randomBytes(32).toString('hex')
