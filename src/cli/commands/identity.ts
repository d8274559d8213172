import { randomBytes } from 'node:crypto'
import { Option } from 'commander'
import { KEY_BYTES, SCHEMES, type Scheme } from '../../signing/principal.ts'
import { readSecret } from '../../signing/secret.ts'
import { type CommandDefinition, type CommandGroup, JSON_OPTION } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { printReport, printValue } from '../output/terminal.ts'
import { writeNewKeyFile } from '../signing/new-key-file.ts'
import { readKeyFile } from '../signing/passphrase.ts'
import { signerOf } from '../signing/wallet.ts'

type IdentityOptions = { json?: boolean }

const newCommand: CommandDefinition<IdentityOptions & { scheme: Scheme }> = {
  summary: 'create a key of the signed line: what a gateway signs its requests with',
  define: (command) =>
    command
      .argument('<file>', 'the file to create; an existing file is never overwritten')
      .addOption(new Option('--scheme <name>', 'kind of the key').choices(SCHEMES).default('ed25519'))
      .option(...JSON_OPTION),
  example: 'entrepot identity new gateway.key',
  async run({ terminal }, { json, scheme }, [file = '']) {
    const secret = randomBytes(KEY_BYTES).toString(scheme === 'ed25519' ? 'base64url' : 'hex')
    const { principal } = await signerOf(readSecret(secret), file)
    writeNewKeyFile(file, `${secret}\n`)
    printReport(
      terminal,
      `[identity] ${file} is a new key of ${scheme}; a gateway file names it under [gateway.identity]`,
    )
    await printValue(terminal, json && principal, principal.identifier)
    return EXIT.ok
  },
}

const showCommand: CommandDefinition<IdentityOptions> = {
  summary: 'print the identifier of a key, which others pin',
  define: (command) => command.argument('<file>').option(...JSON_OPTION),
  example: 'entrepot identity show gateway.key',
  async run({ terminal }, { json }, [file = '']) {
    const text = readKeyFile(file, 'key file', () => true)
    const { principal } = await signerOf(readSecret(text), file)
    await printValue(terminal, json && principal, principal.identifier)
    return EXIT.ok
  },
}

export const identityCommand: CommandGroup = {
  summary: 'create a key of the signed line, or print its identifier',
  subcommands: { new: newCommand, show: showCommand },
}
