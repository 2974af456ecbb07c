import fc from 'fast-check';

// Every generated case of a run follows from one number, which the run prints first.
fc.configureGlobal({ seed: Number(process.env['SEED']) });
