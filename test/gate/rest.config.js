import { settingsOf } from './ava.js'

export default settingsOf('rest')
