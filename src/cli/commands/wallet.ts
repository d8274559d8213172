import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { KEY_BYTES } from '../../signing/principal.ts'
import { readSecret } from '../../signing/secret.ts'
import { type CommandDefinition, type CommandGroup, JSON_OPTION, KEY_FILE_OPTION } from '../command.ts'
import { EXIT, usageError } from '../exit-codes.ts'
import { printReport, printValue } from '../output/terminal.ts'
import { writeNewKeyFile } from '../signing/new-key-file.ts'
import { readPublisher, signerOf } from '../signing/wallet.ts'

type WalletOptions = { json?: boolean; keyFile?: string }

const newCommand: CommandDefinition<WalletOptions> = {
  summary: 'create a wallet: an encrypted keystore file with a new key',
  define: (command) =>
    command
      .argument('<file>', 'the keystore to create; an existing file is never overwritten')
      .option(...JSON_OPTION),
  example: 'entrepot wallet new seller.json',
  async run({ terminal }, options, [file = '']) {
    if (existsSync(file)) throw usageError(`${file} exists, and is not overwritten: name another file`)
    const [{ encryptKeystore }, { readPassphrase }] = await Promise.all([
      import('../signing/keystore.ts'),
      import('../signing/passphrase.ts'),
    ])
    const passphrase = await readPassphrase(terminal, {
      question: `New passphrase of ${file}: `,
      repetition: 'Again: ',
    })
    if (passphrase === '') throw usageError('the passphrase is empty: a keystore needs one')
    const key = `0x${randomBytes(KEY_BYTES).toString('hex')}` as const
    const address = (await signerOf(readSecret(key), file)).principal.identifier
    writeNewKeyFile(file, encryptKeystore(key, address, passphrase))
    printReport(
      terminal,
      `[wallet] ${file} is a new keystore; back it up now, and keep its passphrase: no other key can change the listings that it signs`,
    )
    await printValue(terminal, options.json && { file, address }, address)
    return EXIT.ok
  },
}

const addressCommand: CommandDefinition<WalletOptions> = {
  summary: 'print the address of a wallet',
  define: (command) => command.option(...KEY_FILE_OPTION).option(...JSON_OPTION),
  example: 'entrepot wallet address --key-file seller.json',
  async run({ terminal }, options) {
    const address = await readPublisher(terminal, options)
    await printValue(terminal, options.json && { address }, address)
    return EXIT.ok
  },
}

export const walletCommand: CommandGroup = {
  summary: 'create the wallet of a seller, or print its address',
  subcommands: { new: newCommand, address: addressCommand },
}
