import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** As `node --expose-gc` has it. */
export const collectGarbage: () => void = runInNewContext('gc')
