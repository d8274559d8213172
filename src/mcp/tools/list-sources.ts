import { describeCompleteness } from '../notices.ts'
import { COMPLETENESS, defineTool } from '../tool.ts'

export const listSourcesTool = defineTool({
  name: 'list_sources',
  title: 'List sources',
  description:
    'The Registries that searches reach, and how each is doing: state, age of what is known, last error, number of ' +
    'open listings. `complete` is false where one of them cannot be asked now: searches miss what it has. There may ' +
    'be others that you are not allowed to see.',
  input: {},
  output: COMPLETENESS,
  run: async (discovery, _input, signal) => {
    const { complete, sources } = await discovery.sources(signal)
    return {
      notice: `${describeCompleteness({ complete, sources })} ${sources.length} sources.`,
      json: JSON.stringify({ complete, sources }),
    }
  },
})
