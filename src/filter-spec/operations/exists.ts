import { readBoolean } from '../literals.ts'
import { type Operation, refusePlainForm } from './operation.ts'

type ExistsTest = { op: 'exists'; wanted: boolean }

/** Whether the field is present. */
export const existsOperation: Operation<ExistsTest> = {
  isSetForm: (raw) => raw.startsWith(START) && readBoolean(raw.slice(START.length)) !== null,
  pattern: '^exists:',
  hasPlainForm: () => false,
  parsePlain: (filter) => refusePlainForm(filter, 'exists'),
  parseSet: (_filter, payload) => ({ op: 'exists', wanted: readBoolean(payload) === true }),
  passes: ({ wanted }) => wanted,
  match: ({ wanted }, column, spare) => (wanted ? column.data.present : spare),
  meaning: () => 'exists with exists:true, is absent with exists:false',
  syntax: () => 'exists:true or exists:false',
  examples: 'exists:true',
  control: 'presence',
  isByValue: false,
}

const START = 'exists:'
