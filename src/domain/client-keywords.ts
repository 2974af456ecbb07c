import { Type } from 'typebox';
import { Nullable } from './schemas.ts';

/** Keywords of our own in the schemas of answers: what clients that read nothing else are given instead. */

/** The contract has an integer here: the number is rounded down. */
export const WHOLE = 'x-whole';

/** Values of an enum that older versions of the contract do not have, each with the nearest one that they have. */
export const OLDER_VALUES = 'x-older-values';

/** What clients of 1.0 are given where the value is null, which they refuse; `null`: the field is left out. */
export const INSTEAD_OF_NULL = 'x-instead-of-null';

/** A decimal where the contract has an integer: a board value, or a threshold. */
export const WholeNumber = () => Type.Number({ [WHOLE]: true });

export const NullableWholeNumber = () => Nullable(WholeNumber());
