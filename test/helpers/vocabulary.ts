import { shippedVocabulary } from '../../src/config/vocabulary.ts'

/** Of the tables that the package has. */
export const VOCABULARY = shippedVocabulary()
