import { plural } from '../../domain/plural.ts'
import { describeCompleteness } from '../notices.ts'
import { COMPLETENESS, defineTool } from '../tool.ts'

export const listSourcesTool = defineTool({
  name: 'list_sources',
  title: 'List sources',
  description:
    'The Registries that searches read, with the state of each: age of its data, last error, number of open listings. ' +
    '`complete` is false if one of them cannot be read now: searches lack its listings. There may be other sources ' +
    'that you are not allowed to see.',
  input: {},
  output: COMPLETENESS,
  run: async (market, _input, request) => {
    const { complete, sources } = await market.sources(request)
    return {
      notice: `${describeCompleteness({ complete, sources })} ${plural(sources.length, 'source')}.`,
      json: JSON.stringify({ complete, sources }),
    }
  },
})
