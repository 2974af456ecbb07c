import { Type } from 'typebox';
import { Nullable } from './schemas.ts';

/** Keywords of our own in the schemas of answers: what clients that read nothing else are given instead. */

/** The contract has an integer here: the number is rounded down. */
export const WHOLE = 'x-whole';

/** Values of an enum that older versions of the contract do not have, each with the nearest one that they have. */
export const OLDER_VALUES = 'x-older-values';

/** A decimal where the contract has an integer: a board value, or a threshold. */
export const WholeNumber = () => Type.Number({ [WHOLE]: true });

export const NullableWholeNumber = () => Nullable(WholeNumber());
