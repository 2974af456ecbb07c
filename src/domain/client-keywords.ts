import { Type } from 'typebox';
import { Nullable } from './schemas.ts';

/** Schema keywords of our own: substitute values in answers to clients that cannot read the actual ones. */

/** The contract has an integer here; the number is rounded down. */
export const WHOLE = 'x-whole';

/** Enum values that older contracts lack, each with its nearest equivalent. */
export const OLDER_VALUES = 'x-older-values';

/** Substitute for `null`, which clients of 1.0 reject. If it is `null` itself, the field is omitted. */
export const INSTEAD_OF_NULL = 'x-instead-of-null';

/** A decimal where the contract has an integer: a leaderboard value or threshold. */
export const WholeNumber = () => Type.Number({ [WHOLE]: true });

export const NullableWholeNumber = () => Nullable(WholeNumber());
