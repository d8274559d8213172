import { Argument } from 'commander'
import { gatewayFileSchema } from '../../config/gateway-file.ts'
import { filterSpecSchema } from '../../filter-spec/spec-file.ts'
import type { CommandDefinition } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { printJson } from '../output/terminal.ts'

const SCHEMAS: Readonly<Record<string, () => object>> = {
  gateway: gatewayFileSchema,
  'filter-spec': filterSpecSchema,
}

export const schemaCommand: CommandDefinition = {
  summary: 'print the JSON Schema of a gateway file or a filter spec, for editors and tests; for operators',
  define: (command) =>
    command.addArgument(new Argument('<file>', 'which of them').choices(Object.keys(SCHEMAS))),
  example: 'entrepot schema gateway > gateway.schema.json',
  async run({ terminal }, _options, [file = '']) {
    await printJson(terminal, SCHEMAS[file]?.())
    return EXIT.ok
  },
}
