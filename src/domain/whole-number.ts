import { Type } from 'typebox';
import { Nullable } from './schemas.ts';

/** Keyword of our own: the contract has an integer here, which clients that take nothing else are given, rounded down. */
export const WHOLE = 'x-whole';

/** A decimal where the contract has an integer: a board value, or a threshold. */
export const WholeNumber = () => Type.Number({ [WHOLE]: true });

export const NullableWholeNumber = () => Nullable(WholeNumber());
