/**
 * A user's state with every field there is, as the last version packed it that wrote one map (its script ran in Redis 7.0.15):
 * bytes that installations hold.
 */
export const OLD_STATE = Buffer.from(
  '3gAkoWGBB6NyZWShY88AAAF0h26AAKFigQiYzU4gpTM6cmVkDM4AB6EgzU4ZoAEAoWWlYUBiLmOhZKVbInQiXaFnAqFmgQSTAgAD' +
    'omZlzU4Wom93gQYMonVuAaFuo0FkYaFwgQUooXOTlgHNTiDNTiHPAAABi8/laADNTiKBCZIDzgAHoSCWAs1OIM1OIc8AAAGLz+Vo' +
    'AM1OIoEJkgPOAAehIJYDzU4gzU4hzwAAAYvP5WgAzU4igQmSA84AB6EgonVwzwAAAYvP5WgAoXSBBM8AAAGAK6n0AKJoaQOheq1F' +
    'dXJvcGUvQmVybGluoml0zwAAAZyTbjgAonpvzQ4QomFkzUzbonNwkwH/kZMJCs4AB6Egonp1zwAAAaMYXFAAomFjpGNhbGyiaW2j' +
    'Y3JtonJjB6JjbwSiZ2SBCZfOAAc0ngUAzUzbCM4AB6EgzwAAAYvP5WgAonN1k81CaAPPAAABdIdugAGidHCBBs8AAAGCf7XYAKJw' +
    'YZGTzU4qzU4somlkonNkzU4jom5wozEtMKJvZpNBzU4t/6JzZc8AAAGJe9mEAKJmegKhbYEJkwXOAAPQkAg=',
  'base64',
);
