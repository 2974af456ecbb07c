import { Unpackr } from 'msgpackr';

/** Decodes what scripts pack. */
export const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });
