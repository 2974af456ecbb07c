import fc from 'fast-check';

// One seed determines every generated case of a run, which prints it first.
fc.configureGlobal({ seed: Number(process.env['SEED']) });
