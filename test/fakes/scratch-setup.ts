// Runs in every test file (setupFiles of vitest.config.ts): takes the file's temporary folders away after its own clean-up.
import { afterAll } from 'vitest';
import { removeScratchDirs } from './scratch.js';

afterAll(removeScratchDirs);
